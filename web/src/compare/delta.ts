// SPDX-License-Identifier: Apache-2.0
// A difference as text and as colour, the same in every part of a comparison.
import { ms, pct } from "../widgets/format";

type Maybe = number | null | undefined;

// A plus for an increase, unless it rounds to 0.
const signed = (v: Maybe, text: string): string =>
  typeof v === "number" && v > 0 && /[1-9]/.test(text) ? `+${text}` : text;

export const signedMs = (v: Maybe): string => signed(v, ms(v));

// From a to b as a part of a; null when a is 0 or either is unknown.
export const relativeChange = (a: number | null, b: number | null): number | null =>
  a !== null && b !== null && a > 0 ? b / a - 1 : null;

export const signedPct = (v: number | null): string => signed(v, pct(v));

// A share of a difference. Of a difference near 0 any share is huge and means nothing.
export function shareText(v: Maybe): string {
  if (typeof v !== "number" || !Number.isFinite(v)) return "–";
  if (Math.abs(v) > 9.995) return v > 0 ? ">999\u00a0%" : "<−999\u00a0%";
  return pct(v);
}

export const kindOf = (delta: Maybe): "slower" | "faster" => ((delta ?? 0) > 0 ? "slower" : "faster");

// The red, green and blue of a computed CSS colour.
export function channels(css: string): number[] {
  return (css.match(/[\d.]+/g) ?? ["0", "0", "0"]).slice(0, 3).map(Number);
}

export interface DeltaPalette {
  faster: string;
  same: string;
  slower: string;
}

// -1 (faster) .. 0 (same) .. 1 (slower) as a colour.
export function deltaScale(palette: DeltaPalette): (value: number) => string {
  const faster = channels(palette.faster);
  const same = channels(palette.same);
  const slower = channels(palette.slower);
  return (value) => {
    const end = value < 0 ? faster : slower;
    const part = Math.min(1, Math.abs(value));
    return `rgb(${same.map((c, i) => Math.round(c + (end[i] - c) * part)).join(" ")})`;
  };
}
