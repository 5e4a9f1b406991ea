// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import type { SystemGpu } from "../../data/generated";
import { limitText, withReading } from "./gpu_readings";

const gpu = (index: number, power_w: number | null) => ({ index, power_w }) as SystemGpu;

test("readings are kept by GPU, the newest ones only, and what is not known is not a reading", () => {
  let readings = withReading(new Map(), [gpu(0, 100), gpu(1, null)]);
  readings = withReading(readings, [gpu(0, 110), gpu(1, 50)]);
  expect(readings.get(0)?.power_w).toEqual([100, 110]);
  expect(readings.get(1)?.power_w).toEqual([50]);
  for (let i = 0; i < 300; ++i) readings = withReading(readings, [gpu(0, i)]);
  expect(readings.get(0)?.power_w.length).toBe(100);
  expect(readings.get(0)?.power_w.at(-1)).toBe(299);
  expect(readings.has(1)).toBe(false);
});

test("what limits the clocks is named, and being idle is not a limit", () => {
  expect(limitText(null)).toBe("");
  expect(limitText([])).toBe("");
  expect(limitText(["idle"])).toBe("");
  expect(limitText(["power_cap", "new_reason"])).toBe("Clocks are limited by the power limit, new reason.");
});
