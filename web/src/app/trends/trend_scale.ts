// SPDX-License-Identifier: Apache-2.0
// Where the points of a trend are drawn: runs in order, values on a scale with round marks.
import type { TrendRun } from "../../data/generated";

export interface TrendScale {
  low: number;
  high: number;
  marks: number[];
}

// Marks at 1, 2 or 5 times a power of ten, about `wanted` of them.
export function scaleOf(values: number[], wanted = 5): TrendScale {
  let low = Math.min(...values);
  let high = Math.max(...values);
  if (!Number.isFinite(low)) return { low: 0, high: 1, marks: [0, 1] };
  if (high - low < Math.abs(high) * 1e-6) {
    const room = Math.abs(high) * 0.05 || 1;
    low -= room;
    high += room;
  }
  const rough = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= rough) ?? 10 * power;
  const first = Math.floor(low / step);
  const last = Math.ceil(high / step);
  const marks = Array.from({ length: last - first + 1 }, (_, i) => (first + i) * step);
  return { low: first * step, high: last * step, marks };
}

export interface LevelLine {
  from: number; // index of the first run
  to: number; // and the last
  level: number;
}

// Runs of equal level in a row.
export function levelsOf(runs: Pick<TrendRun, "level">[]): LevelLine[] {
  const out: LevelLine[] = [];
  runs.forEach(({ level }, i) => {
    const last = out.at(-1);
    if (level === null) return;
    if (last && last.level === level && last.to === i - 1) last.to = i;
    else out.push({ from: i, to: i, level });
  });
  return out;
}

// The first and the last time below the plot: the days, or the times of one day.
export function endLabels(times: string[]): [first: string, last: string] {
  const [first = "", last = ""] = [times[0], times.at(-1)];
  const isOneDay = first.slice(0, 10) === last.slice(0, 10);
  const text = (time: string) => (isOneDay ? time.slice(0, 16).replace("T", " ") : time.slice(0, 10));
  return [text(first), text(last)];
}
