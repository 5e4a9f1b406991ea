// SPDX-License-Identifier: Apache-2.0
// The steps from the wall time of A to that of B, and the axis they are drawn on.
import type { CompareFacts, Contribution } from "../data/replies";

export interface Step {
  delta: number;
  from: number;
  to: number;
}

export interface Waterfall {
  changes: { contribution: Contribution; step: Step }[];
  rest: (Step & { count: number }) | null; // the changes that are not shown, summed
  residual: Step;
  range: Range;
}

export interface Range {
  low: number;
  high: number;
}

// Zero is on the axis unless the steps would be too small to see beside it. Without any step it is.
export function rangeOf(levels: number[]): Range {
  const low = Math.min(...levels);
  const high = Math.max(...levels);
  const room = (high - low) * 0.06;
  const isFlat = high - low <= 1e-6 * high;
  if (low <= 0 || isFlat || high - low > 0.45 * high) return { low: Math.min(0, low), high: high + room };
  return { low: low - (high - low) * 0.25, high: high + room };
}

// Where on the axis a value lies, in percent.
export function position(value: number, { low, high }: Range): number {
  return Math.min(100, Math.max(0, (100 * (value - low)) / Math.max(1e-12, high - low)));
}

type Facts = Pick<CompareFacts, "contributions" | "wall_a_ms" | "wall_b_ms" | "residual_ms">;

// The first `shown` contributions are steps of their own.
export function waterfallOf(facts: Facts, shown: number): Waterfall {
  let level = facts.wall_a_ms ?? 0;
  const levels = [level, facts.wall_b_ms ?? 0];
  const step = (delta: number): Step => {
    const from = level;
    level += delta;
    levels.push(level);
    return { delta, from, to: level };
  };
  const changes = facts.contributions
    .slice(0, shown)
    .map((contribution) => ({ contribution, step: step(contribution.delta_ms ?? 0) }));
  const hidden = facts.contributions.slice(shown);
  const rest =
    hidden.length > 0 ? { ...step(hidden.reduce((sum, c) => sum + (c.delta_ms ?? 0), 0)), count: hidden.length } : null;
  const residual = step(facts.residual_ms ?? 0);
  return { changes, rest, residual, range: rangeOf(levels) };
}
