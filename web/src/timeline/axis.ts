// SPDX-License-Identifier: Apache-2.0
import { us } from "../widgets/format";
import { color } from "../widgets/theme";
import type { View } from "./view";
import { ticks } from "./view";

export const AXIS_PX = 22;

// The view is in µs. The labels stand around the height `label`, the lines go from `top` to `bottom`.
export function drawAxis(
  context: CanvasRenderingContext2D,
  view: View,
  width: number,
  label: number,
  top: number,
  bottom: number,
): void {
  const scale = width / (view.to - view.from);
  const grid = color("--grid");
  const ink = color("--muted");
  context.font = "11px system-ui, sans-serif";
  for (const at of ticks(view, width)) {
    const x = Math.round((at - view.from) * scale) + 0.5;
    context.fillStyle = grid;
    context.fillRect(x, top, 1, bottom - top);
    context.fillStyle = ink;
    const text = us(at);
    context.fillText(text, Math.min(x + 3, width - context.measureText(text).width - 1), label);
  }
}
