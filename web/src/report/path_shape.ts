// SPDX-License-Identifier: Apache-2.0
// The composition of the critical path over time as SVG shapes, one per class, stacked.
import type { PathStrip } from "../data/replies";

const OVERLAP_PX = 0.3; // hides the seams between columns

export function stripShapes(strip: PathStrip, width: number, height: number): { name: string; shape: string }[] {
  const bins = strip.classes[0]?.share.length ?? 0;
  const base = new Float64Array(bins);
  const step = width / Math.max(1, bins);
  return strip.classes.map((c) => {
    let shape = "";
    c.share.forEach((share, i) => {
      if (share > 0) {
        const x = (i * step).toFixed(2);
        const y = (height * (1 - base[i])).toFixed(2);
        const side = (step + OVERLAP_PX).toFixed(2);
        shape += `M${x} ${y}h${side}v${(-height * share).toFixed(2)}h-${side}z`;
      }
      base[i] += share;
    });
    return { name: c.class, shape };
  });
}
