// SPDX-License-Identifier: Apache-2.0
// Where the lanes of a timeline lie, and what is under the mouse.
import type { ReportLane, ReportTimeline } from "../data/replies";
import { AXIS_PX } from "./axis";
import type { View } from "./view";
import { timeAt } from "./view";

export const ROW_PX = 15;
export const HEAD_PX = 19;
export const LEVELS = 8; // of a lane that is not expanded
const GAP_PX = 6;

export interface PlacedLane {
  lane: ReportLane;
  top: number;
  rows: number;
}

export interface SpanHit {
  lane: ReportLane;
  index: number;
}

export function placeLanes(lanes: ReportLane[], expanded: Set<ReportLane>): { placed: PlacedLane[]; height: number } {
  let top = AXIS_PX;
  const placed = lanes.map((lane) => {
    const levels = lane.depth_max + 1;
    const at = { lane, top, rows: expanded.has(lane) ? levels : Math.min(levels, LEVELS) };
    top += HEAD_PX + at.rows * ROW_PX + GAP_PX;
    return at;
  });
  return { placed, height: top };
}

// The lane whose title is at this height.
export function headAt(placed: PlacedLane[], y: number): ReportLane | null {
  return placed.find((p) => y >= p.top && y < p.top + HEAD_PX)?.lane ?? null;
}

// The span under the mouse; within a pixel counts, so that short spans can be hit. The last one is drawn on top.
export function spanAt(placed: PlacedLane[], view: View, width: number, x: number, y: number): SpanHit | null {
  const at = placed.find((p) => y >= p.top + HEAD_PX && y < p.top + HEAD_PX + p.rows * ROW_PX);
  if (!at) return null;
  const { lane } = at;
  const row = Math.floor((y - at.top - HEAD_PX) / ROW_PX);
  const pixel = (view.to - view.from) / Math.max(1, width);
  const time = timeAt(view, x, width);
  let index = -1;
  for (let i = 0; i < lane.start_us.length; ++i) {
    if (lane.depth[i] !== row) continue;
    if (time >= lane.start_us[i] - pixel && time <= lane.start_us[i] + lane.dur_us[i] + pixel) index = i;
  }
  return index < 0 ? null : { lane, index };
}

// How much of each pixel column the lanes of one kind cover, per category.
export function coverage(timeline: ReportTimeline, kind: ReportLane["kind"], width: number): Float32Array[] {
  const sums = timeline.categories.map(() => new Float32Array(width));
  const scale = timeline.wall_us > 0 ? width / timeline.wall_us : 0;
  for (const lane of timeline.lanes) {
    if (lane.kind !== kind) continue;
    for (let i = 0; i < lane.start_us.length; ++i) {
      if (kind === "host" && lane.depth[i] > 0) continue; // its caller covers the same time
      const from = lane.start_us[i] * scale;
      const to = from + lane.dur_us[i] * scale;
      const last = Math.min(width - 1, Math.floor(to));
      for (let x = Math.max(0, Math.floor(from)); x <= last; ++x)
        sums[lane.category[i]][x] += Math.min(to, x + 1) - Math.max(from, x);
    }
  }
  return sums;
}

// The categories that occur, by name.
export function usedCategories(timeline: ReportTimeline): string[] {
  const used = new Set<number>();
  for (const lane of timeline.lanes) for (const c of lane.category) used.add(c);
  return timeline.categories.filter((_, i) => used.has(i));
}
