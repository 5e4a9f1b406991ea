// SPDX-License-Identifier: Apache-2.0
// What is drawn at a place of the timeline.
import type { TileRow } from "../../data/tile";
import { longestNs } from "../../data/tile";
import type { PlacedLane } from "./lane_tree";
import { DEPTH_PX } from "./lane_tree";
import type { DrawnTile } from "./tile_store";

export interface Hit {
  lane: PlacedLane;
  name: string;
  table: string;
  start_ns: number;
  dur_ns: number;
  id: number | null; // null: a bucket of several short spans
  depth: number | null; // of a box of stacks
  count: number;
}

// Index of the last value that is not above `wanted`; -1: none.
export function lastUpTo(values: ArrayLike<number>, wanted: number): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= wanted) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function spanAt(row: TileRow, at_ns: number, slack_ns: number): number {
  for (let i = lastUpTo(row.start, at_ns + slack_ns), tries = 0; i >= 0 && tries < 4; --i, ++tries)
    if (row.start[i] + row.dur[i] + slack_ns >= at_ns) return i;
  return -1;
}

export function laneAt(placed: PlacedLane[], y: number): PlacedLane | undefined {
  return placed.find((p) => y >= p.top && y < p.top + p.height);
}

export function hitAt(drawn: DrawnTile, lane: PlacedLane, y: number, at_ns: number, slack_ns: number): Hit | null {
  const depth = Math.floor((y - lane.top) / DEPTH_PX);
  const row = drawn.rowsOf.get(lane.lane.id)?.find((r) => r.depth === depth);
  if (!row) return null;
  const { names, tables, bucket_ns } = drawn.tile;
  const span = spanAt(row, at_ns, slack_ns);
  if (span >= 0) {
    const name = row.name[span];
    return {
      lane,
      name: names[name],
      table: tables[name],
      start_ns: row.start[span],
      dur_ns: row.dur[span],
      id: row.id[span],
      depth: lane.lane.kind === "stacks" ? row.depth : null,
      count: 1,
    };
  }
  const bucket = lastUpTo(row.bucket, at_ns / bucket_ns);
  if (bucket < 0 || (row.bucket[bucket] + 1) * bucket_ns + slack_ns < at_ns) return null;
  const top = row.top[bucket];
  return {
    lane,
    name: names[top],
    table: tables[top],
    start_ns: row.bucket[bucket] * bucket_ns,
    dur_ns: longestNs(row.longest[bucket]),
    id: null,
    depth: null,
    count: row.count[bucket],
  };
}
