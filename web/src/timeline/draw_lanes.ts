// SPDX-License-Identifier: Apache-2.0
// Draws the lanes of a timeline and the overview above them.
import type { ReportLane, ReportTimeline } from "../data/replies";
import { drawLabel, prepareCanvas } from "../widgets/canvas";
import { cut, plural } from "../widgets/format";
import { color } from "../widgets/theme";
import type { PlacedLane } from "./lanes";
import { HEAD_PX, ROW_PX } from "./lanes";
import type { View } from "./view";

export const OVERVIEW_PX = 46;
const MIN_SPAN_PX = 0.7;
const LABEL_FROM_PX = 26;

export interface LaneStyle {
  fills: string[]; // by category
  ink: string;
  marked: number | null; // the name that stands out
}

export function drawLane(
  context: CanvasRenderingContext2D,
  { lane, top, rows }: PlacedLane,
  view: View,
  width: number,
  names: string[],
  { fills, ink, marked }: LaneStyle,
): void {
  const scale = width / (view.to - view.from);
  const drawnTo = new Float64Array(rows).fill(-1); // right edge per row, so that hidden spans cost nothing
  const labels: { i: number; x: number; y: number; room: number }[] = [];
  for (let i = 0; i < lane.start_us.length; ++i) {
    const row = lane.depth[i];
    if (row >= rows) continue;
    const start = lane.start_us[i];
    const end = start + lane.dur_us[i];
    if (end < view.from || start > view.to) continue;
    const isMarked = marked !== null && lane.name_id[i] === marked;
    const x = Math.max(0, (start - view.from) * scale);
    const right = Math.min(width, Math.max(x + MIN_SPAN_PX, (end - view.from) * scale));
    if (right <= drawnTo[row] + 0.3 && !isMarked) continue;
    drawnTo[row] = right;
    context.globalAlpha = marked === null || isMarked ? 1 : 0.25;
    context.fillStyle = fills[lane.category[i]];
    const y = top + HEAD_PX + row * ROW_PX;
    context.fillRect(x, y, Math.max(MIN_SPAN_PX, right - x - (right - x > 3 ? 1 : 0)), ROW_PX - 2);
    if (right - x > LABEL_FROM_PX) labels.push({ i, x, y, room: right - x });
  }
  context.globalAlpha = 1;
  context.font = "10.5px system-ui, sans-serif";
  context.fillStyle = ink;
  for (const { i, x, y, room } of labels) drawLabel(context, names[lane.name_id[i]], x, y + ROW_PX / 2 - 0.5, room);
}

export function drawHead(context: CanvasRenderingContext2D, { lane, top, rows }: PlacedLane, width: number): void {
  const hidden = lane.depth_max + 1 - rows;
  context.font = "600 11.5px system-ui, sans-serif";
  context.fillStyle = color("--text");
  const title = cut(lane.name, 80);
  context.fillText(title, 2, top + HEAD_PX / 2);
  const used = context.measureText(title).width;
  context.font = "11px system-ui, sans-serif";
  context.fillStyle = color("--muted");
  const spans = plural(lane.start_us.length, "span");
  const note = hidden > 0 ? `${spans}, ${plural(hidden, "hidden level")}: click to expand` : spans;
  if (used + 20 < width) context.fillText(note, used + 10, top + HEAD_PX / 2);
}

export type Coverage = Record<ReportLane["kind"], Float32Array[]>;

// Per pixel column a bar as high as the lanes were busy; several streams at once fill the column.
function drawBars(
  context: CanvasRenderingContext2D,
  width: number,
  sums: Float32Array[],
  fills: string[],
  bottom: number,
  height: number,
): void {
  for (let x = 0; x < width; ++x) {
    let whole = 0;
    for (const sum of sums) whole += sum[x] ?? 0;
    let y = bottom;
    for (let c = 0; c < fills.length; ++c) {
      const size = ((sums[c][x] ?? 0) * height) / Math.max(1, whole);
      if (size <= 0) continue;
      context.fillStyle = fills[c];
      context.fillRect(x, y - size, 1, size);
      y -= size;
    }
  }
}

export function drawOverview(
  canvas: HTMLCanvasElement,
  width: number,
  timeline: ReportTimeline,
  fills: string[],
  view: View,
  bars: Coverage,
): void {
  const context = prepareCanvas(canvas, width, OVERVIEW_PX);
  if (!context) return;
  const scale = timeline.wall_us > 0 ? width / timeline.wall_us : 0;
  context.fillStyle = color("--sunken");
  context.fillRect(0, 0, width, OVERVIEW_PX);
  drawBars(context, width, bars.device, fills, 29, 26);
  drawBars(context, width, bars.host, fills, 43, 11);
  context.fillStyle = color("--shade");
  context.fillRect(0, 0, view.from * scale, OVERVIEW_PX);
  context.fillRect(view.to * scale, 0, width - view.to * scale, OVERVIEW_PX);
  context.strokeStyle = color("--accent");
  context.strokeRect(view.from * scale + 0.5, 0.5, Math.max(1, (view.to - view.from) * scale - 1), OVERVIEW_PX - 1);
}
