// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest";
import type { Contribution } from "../data/replies";
import { position, rangeOf, waterfallOf } from "./waterfall_steps";

const change = (delta_ms: number | null) => ({ delta_ms }) as Contribution;
const facts = (deltas: (number | null)[], residual = 0, wallA: number | null = 100) => ({
  contributions: deltas.map(change),
  wall_a_ms: wallA,
  wall_b_ms: wallA === null ? null : wallA + deltas.reduce<number>((s, d) => s + (d ?? 0), residual),
  residual_ms: residual,
});

describe("waterfallOf", () => {
  test("every step starts where the one before it ended, the last ends at B", () => {
    const w = waterfallOf(facts([30, -20, 5], 1), 12);
    const steps = [...w.changes.map((c) => c.step), w.residual];
    expect(steps.map((s) => s.from)).toEqual([100, 130, 110, 115]);
    expect(steps.map((s) => s.to)).toEqual([130, 110, 115, 116]);
    expect(w.rest).toBeNull();
  });
  test("changes beyond the shown ones are one step that sums them", () => {
    const w = waterfallOf(facts([30, -20, 5, -1, null]), 2);
    expect(w.changes).toHaveLength(2);
    expect(w.rest).toEqual({ delta: 4, from: 110, to: 114, count: 3 });
    expect(w.residual).toEqual({ delta: 0, from: 114, to: 114 });
  });
  test("an unknown delta is a step of 0", () => {
    expect(waterfallOf(facts([null, 3]), 12).changes.map((c) => c.step.to)).toEqual([100, 103]);
  });
  test("unknown walls and no changes are drawn from 0", () => {
    const w = waterfallOf({ contributions: [], wall_a_ms: null, wall_b_ms: null, residual_ms: null }, 12);
    expect(w.residual).toEqual({ delta: 0, from: 0, to: 0 });
    expect(position(0, w.range)).toBe(0);
  });
  test("a step below both walls is within the axis", () => {
    const { range } = waterfallOf(facts([-90, 95]), 12);
    expect(range.low).toBeLessThanOrEqual(10);
    expect(range.high).toBeGreaterThan(105);
  });
});

describe("rangeOf", () => {
  test("starts at 0 when the steps are large", () => expect(rangeOf([100, 40]).low).toBe(0));
  test("leaves 0 out when the steps are small beside the walls", () => {
    const { low, high } = rangeOf([1000, 1010]);
    expect(low).toBeCloseTo(997.5, 9);
    expect(high).toBeGreaterThan(1010);
  });
  test("starts at 0 when the walls are equal", () =>
    expect(rangeOf([1000, 1000, 1000])).toEqual({ low: 0, high: 1000 }));
  test("goes below 0 with the steps", () => expect(rangeOf([10, -5]).low).toBe(-5));
});

describe("position", () => {
  const range = { low: 10, high: 30 };
  test("is in percent of the axis", () => expect(position(20, range)).toBe(50));
  test("stays within the axis", () => {
    expect(position(-100, range)).toBe(0);
    expect(position(100, range)).toBe(100);
  });
  test("an axis without length has a position", () => {
    expect(position(5, { low: 5, high: 5 })).toBe(0);
  });
});
