// SPDX-License-Identifier: Apache-2.0
// Counters and memory, drawn as lines: their scale, and the value at a time.
import type { TimelineLane } from "../../data/generated";
import type { TileSeries } from "../../data/tile";
import { bytes, count } from "../../widgets/format";
import { lastUpTo } from "./hit";

export interface LineScale {
  least: number; // 0, or below
  most: number;
}

/** One scale for all tiles in sight, so that the line does not jump between them; null: no values. */
export function scaleOfLine(series: TileSeries[]): LineScale | null {
  let [least, most, isEmpty] = [0, 0, true];
  for (const s of series)
    for (let i = 0; i < s.at.length; ++i) {
      isEmpty = false;
      most = Math.max(most, s.max[i]);
      least = Math.min(least, s.min[i]);
    }
  return isEmpty ? null : { least, most };
}

/** The value that holds at a time: that of the last sample before it. Null: before the first one. */
export function valueAt(series: TileSeries, at_ns: number): { min: number; max: number; last: number } | null {
  const i = lastUpTo(series.at, at_ns);
  return i < 0 ? null : { min: series.min[i], max: series.max[i], last: series.last[i] };
}

const number = (value: number): string => count(Number(value.toPrecision(5)));

/** Memory is in bytes; a counter has its unit in its name. */
export const lineText = (lane: Pick<TimelineLane, "kind">, value: number): string =>
  lane.kind === "memory" ? bytes(value) : number(value);

/** "1,980", or "1,410 to 1,980" where several samples share a pixel. */
export function valueText(lane: Pick<TimelineLane, "kind">, value: { min: number; max: number; last: number }): string {
  const { min, max, last } = value;
  if (min === max) return lineText(lane, last);
  return `${lineText(lane, min)} to ${lineText(lane, max)}, then ${lineText(lane, last)}`;
}
