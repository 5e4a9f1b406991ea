// SPDX-License-Identifier: Apache-2.0
// A change as text and as colour, the same in every part of a comparison.
import { ms } from "./format";
import { color } from "./theme";

export const signedMs = (v: number | null | undefined): string => (typeof v === "number" && v > 0 ? `+${ms(v)}` : ms(v));

// A share of a difference; of a tiny difference it says nothing.
export function share(v: number | null | undefined): string {
  if (typeof v !== "number" || !Number.isFinite(v)) return "–";
  if (Math.abs(v) > 9.995) return v > 0 ? ">999 %" : "<−999 %";
  return Math.abs(v) < 0.0005 ? "0.0 %" : `${(100 * v).toFixed(1)} %`;
}

function channels(css: string): number[] {
  return (css.match(/[\d.]+/g) ?? ["0", "0", "0"]).slice(0, 3).map(Number);
}

// -1 (faster) .. 0 (the same) .. 1 (slower) as a colour of the theme in force.
export function deltaColors(): (value: number) => string {
  const [faster, same, slower] = ["--faster", "--same", "--slower"].map((name) => channels(color(name)));
  return (value) => {
    const end = value < 0 ? faster : slower;
    const part = Math.min(1, Math.abs(value));
    return `rgb(${same.map((c, i) => Math.round(c + (end[i] - c) * part)).join(" ")})`;
  };
}
