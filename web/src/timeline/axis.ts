// SPDX-License-Identifier: Apache-2.0
import { color } from "../widgets/theme";
import type { View } from "./view";
import { ticks, tickText } from "./view";

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
  const marks = ticks(view, width);
  const step = marks.length > 1 ? marks[1] - marks[0] : view.to - view.from;
  for (const at of marks) {
    const x = Math.round((at - view.from) * scale) + 0.5;
    context.fillStyle = grid;
    context.fillRect(x, top, 1, bottom - top);
    context.fillStyle = ink;
    const text = tickText(at, step);
    context.fillText(text, Math.min(x + 3, width - context.measureText(text).width - 1), label);
  }
}
