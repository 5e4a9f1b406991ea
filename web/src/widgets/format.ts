// SPDX-License-Identifier: Apache-2.0
// Numbers for people, as the program's own texts write them. A missing value is a dash.

type Maybe = number | null | undefined;

const NONE = "–";
const NBSP = "\u00a0"; // a number and its unit stay on one line
const has = (v: Maybe): v is number => typeof v === "number" && Number.isFinite(v);

export function ms(v: Maybe): string {
  if (!has(v)) return NONE;
  const size = Math.abs(v);
  if (size < 0.5e-6) return "0"; // less than half a nanosecond
  if (size < 0.001) return `${(v * 1e6).toFixed(0)}${NBSP}ns`;
  if (size < 1) return `${(v * 1e3).toFixed(1)}${NBSP}µs`;
  if (size < 1000) return `${v.toFixed(size < 10 ? 2 : 1)}${NBSP}ms`;
  return `${(v / 1e3).toFixed(2)}${NBSP}s`;
}
export const us = (v: Maybe): string => (has(v) ? ms(v / 1e3) : NONE);
export function pct(v: Maybe, digits = 1): string {
  if (!has(v)) return NONE;
  const text = (100 * v).toFixed(digits);
  return `${Number(text) === 0 ? text.replace("-", "") : text}${NBSP}%`;
}
export const count = (v: Maybe): string => (has(v) ? v.toLocaleString("en-US") : NONE);
// "1 run", "1,000 runs".
export const plural = (v: number, noun: string): string => `${count(v)} ${noun}${v === 1 ? "" : "s"}`;

export function bytes(v: Maybe): string {
  if (!has(v)) return NONE;
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let at = 0;
  let size = v;
  while (Math.abs(size) >= 999.5 && at < units.length - 1) {
    size /= 1000;
    ++at;
  }
  return `${at === 0 ? size : size.toFixed(1)}${NBSP}${units[at]}`;
}

export const short3 = (v: Maybe): string => (has(v) ? Number(v.toPrecision(3)).toString() : NONE);

// A text of any length, cut in its middle.
export const cut = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, Math.ceil(length / 2))}…${text.slice(-Math.floor(length / 2 - 1))}`;
const ABBREVIATIONS = /\b(api|cpu|cuda|cupti|gil|gpu|nvtx)\b/g;
export const plain = (word: string): string =>
  word.replaceAll("_", " ").replace(ABBREVIATIONS, (short) => short.toUpperCase());
export const capitalised = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
