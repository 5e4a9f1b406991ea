// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { levelsOf, scaleOf } from "./trend_scale";

test("marks are round and include all values", () => {
  const scale = scaleOf([103, 148]);
  expect(scale).toEqual({ low: 100, high: 150, marks: [100, 110, 120, 130, 140, 150] });
  expect(scaleOf([]).marks).toEqual([0, 1]);
  const flat = scaleOf([5, 5]);
  expect(flat.low).toBeLessThan(5);
  expect(flat.high).toBeGreaterThan(5);
});

test("equal levels in a row are one line", () => {
  expect(levelsOf([{ level: 1 }, { level: 1 }, { level: null }, { level: 2 }])).toEqual([
    { from: 0, to: 1, level: 1 },
    { from: 3, to: 3, level: 2 },
  ]);
});
