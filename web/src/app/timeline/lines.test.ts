// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import type { TileSeries } from "../../data/tile";
import { scaleOfLine, valueAt, valueText } from "./lines";

const series = (at: number[], values: number[]): TileSeries => ({
  lane: 1,
  at: Float64Array.from(at),
  min: Float32Array.from(values),
  max: Float32Array.from(values),
  last: Float32Array.from(values),
});
const CLOCK = { kind: "counter" } as const;

test("tiles beside each other have one scale, which begins at zero", () => {
  expect(scaleOfLine([series([0, 1], [5, 7]), series([2], [9])])).toEqual({ least: 0, most: 9 });
  expect(scaleOfLine([series([0], [-4])])).toEqual({ least: -4, most: 0 });
  expect(scaleOfLine([series([], [])])).toBeNull();
});

test("a value holds until the next one", () => {
  const line = series([10, 20], [1, 2]);
  expect(valueAt(line, 9)).toBeNull();
  expect(valueAt(line, 19)?.last).toBe(1);
  expect(valueAt(line, 500)?.last).toBe(2);
});

test("values are written with their unit, several of one pixel as a range", () => {
  expect(valueText(CLOCK, { min: 1980, max: 1980, last: 1980 })).toBe("1,980");
  expect(valueText(CLOCK, { min: 1410, max: 1980, last: 1500 })).toBe("1,410 to 1,980, then 1,500");
  expect(valueText({ kind: "memory" }, { min: 2e9, max: 2e9, last: 2e9 })).toBe("2.0\u00a0GB");
});
