// SPDX-License-Identifier: Apache-2.0
// Both runs in time: rows for what runs at the same time, the alignment of B to A, and what is under the mouse.
import type { CompareTrack } from "../data/replies";
import type { View } from "../timeline/view";
import { timeAt } from "../timeline/view";

export const ROW_PX = 30;
export const MAX_ROWS = 4;

export type Side = "a" | "b";
export const SIDES: Side[] = ["a", "b"];
export const otherSide = (side: Side): Side => (side === "a" ? "b" : "a");

export interface PairLane {
  track: CompareTrack;
  row: Uint8Array; // of each item
  rows: number;
  end: number;
}

// An item takes the first row that is free when it starts; the last row takes what is left.
export function stackTrack(track: CompareTrack): PairLane {
  const row = new Uint8Array(track.start_ms.length);
  const freeAt: number[] = [];
  let end = 0;
  for (let i = 0; i < row.length; ++i) {
    let at = freeAt.findIndex((t) => t <= track.start_ms[i] + 1e-9);
    if (at < 0) at = Math.min(freeAt.length, MAX_ROWS - 1);
    freeAt[at] = Math.max(freeAt[at] ?? 0, track.start_ms[i] + track.dur_ms[i]);
    row[i] = at;
    end = Math.max(end, freeAt[at]);
  }
  return { track, row, rows: Math.max(1, freeAt.length), end };
}

// The index of the last value that is at most `value`; the first value must be.
function lastAtMost(values: number[], value: number): number {
  let low = 0;
  let high = values.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (values[middle] <= value) low = middle;
    else high = middle - 1;
  }
  return low;
}

// Turns a time of A into the time at which B does the same, interpolated between the starts of matched items.
export function alignTracks(a: CompareTrack, b: CompareTrack): (time: number) => number {
  const from = [0];
  const to = [0];
  for (let i = 0; i < a.start_ms.length; ++i) {
    const partner = a.partner[i];
    if (partner === null || a.start_ms[i] <= from[from.length - 1] || b.start_ms[partner] < to[to.length - 1]) continue;
    from.push(a.start_ms[i]);
    to.push(b.start_ms[partner]);
  }
  return (time) => {
    const at = lastAtMost(from, time);
    if (at + 1 >= from.length) return to[at] + time - from[at];
    return to[at] + ((time - from[at]) * (to[at + 1] - to[at])) / (from[at + 1] - from[at]);
  };
}

// The item of a row under the mouse; within a pixel counts. Of several, a changed one before the rest.
export function itemAt(lane: PairLane, view: View, width: number, x: number, row: number): number | null {
  const pixel = (view.to - view.from) / Math.max(1, width);
  const time = timeAt(view, x, width);
  const { start_ms, dur_ms, change } = lane.track;
  let best: number | null = null;
  for (let i = 0; i < lane.row.length; ++i) {
    if (lane.row[i] !== row || time < start_ms[i] - pixel || time > start_ms[i] + dur_ms[i] + pixel) continue;
    if (best === null || change[best] === null || change[i] !== null) best = i;
  }
  return best;
}

// The middles of the items of one change, of any when it is null.
export function changeTimes({ start_ms, dur_ms, change }: CompareTrack, chosen: number | null): number[] {
  const out: number[] = [];
  change.forEach((c, i) => {
    if (c !== null && (chosen === null || c === chosen)) out.push(start_ms[i] + dur_ms[i] / 2);
  });
  return out;
}

// The first time to the right of the view's middle, and from the start again after the last.
export function nextTime(times: number[], view: View): number | null {
  const span = view.to - view.from;
  const after = (view.from + view.to) / 2 + span * 0.02;
  const sorted = [...times].sort((p, q) => p - q);
  return sorted.find((t) => t > after) ?? sorted[0] ?? null;
}

// The ranks of the changes that have an item in either track.
export function changesIn(tracks: CompareTrack[]): Set<number> {
  const seen = new Set<number>();
  for (const track of tracks) for (const c of track.change) if (c !== null) seen.add(c);
  return seen;
}
