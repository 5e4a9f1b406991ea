// SPDX-License-Identifier: Apache-2.0
// Numbers for people, as the program's own texts write them.

const has = (v: number | null | undefined): v is number => typeof v === "number" && Number.isFinite(v);

export function ms(v: number | null | undefined): string {
  if (!has(v)) return "–";
  const size = Math.abs(v);
  if (size === 0) return "0";
  if (size < 0.001) return `${(v * 1e6).toFixed(0)} ns`;
  if (size < 1) return `${(v * 1e3).toFixed(1)} µs`;
  if (size < 1000) return `${v.toFixed(size < 10 ? 2 : 1)} ms`;
  return `${(v / 1e3).toFixed(2)} s`;
}
export const us = (v: number | null | undefined): string => (has(v) ? ms(v / 1e3) : "–");
export const pct = (v: number | null | undefined, digits = 1): string => (has(v) ? `${(100 * v).toFixed(digits)} %` : "–");
export const count = (v: number | null | undefined): string => (has(v) ? v.toLocaleString("en-US") : "–");
export function bytes(v: number | null | undefined): string {
  if (!has(v)) return "–";
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let at = 0;
  let size = v;
  while (Math.abs(size) >= 999.5 && at < units.length - 1) {
    size /= 1000;
    ++at;
  }
  return `${at === 0 ? size : size.toFixed(1)} ${units[at]}`;
}
export const short3 = (v: number | null | undefined): string => (has(v) ? Number(v.toPrecision(3)).toString() : "–");
// A name of any length, cut in its middle.
export const cut = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, Math.ceil(length / 2))}…${text.slice(-Math.floor(length / 2 - 1))}`;
export const plain = (word: string): string => word.replaceAll("_", " ");
