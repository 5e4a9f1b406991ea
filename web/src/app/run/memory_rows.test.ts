// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { memoryOf } from "./memory_rows";

test("rows become one curve and one peak per device", () => {
  const memory = memoryOf([
    [0, 0, 0, 10, 100, 2],
    [0, 1, 5, 40, 90, 1],
    [1, 0, 1, 7, null, 1],
  ]);
  expect(memory.events).toBe(4);
  expect(memory.peaks).toEqual([
    { device: 0, allocated_bytes: 40, reserved_bytes: 100 },
    { device: 1, allocated_bytes: 7, reserved_bytes: 0 },
  ]);
  expect(memory.series[0]).toEqual({ device: 0, at_ms: [0, 5], allocated_bytes: [10, 40] });
});
