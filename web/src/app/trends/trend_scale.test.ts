// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { endLabels, levelsOf, scaleOf } from "./trend_scale";

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

test("the ends of the plot are days, or times of one day", () => {
  expect(endLabels(["2026-11-18T23:59:00Z", "2026-11-19T04:13:10Z"])).toEqual(["2026-11-18", "2026-11-19"]);
  expect(endLabels(["2026-11-19T01:02:03Z", "2026-11-19T04:13:10Z"])).toEqual(["2026-11-19 01:02", "2026-11-19 04:13"]);
  expect(endLabels([])).toEqual(["", ""]);
});
