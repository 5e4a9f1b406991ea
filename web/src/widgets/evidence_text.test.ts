// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { evidenceName, evidencePlace, evidenceValue } from "./evidence_text";

test("a value is written by its unit", () => {
  expect(evidenceValue({ value: 0.25, unit: "ratio" })).toBe("25.0\u00a0%");
  expect(evidenceValue({ value: 0.25, unit: "ms" })).toBe("250.0\u00a0µs");
  expect(evidenceValue({ value: 1234567, unit: "count" })).toBe("1,234,570");
  expect(evidenceValue({ value: 12.3456, unit: "GB/s" })).toBe("12.3 GB/s");
  expect(evidenceValue({ value: 0, unit: null })).toBe("0");
});

test("an unknown value is not shown", () => expect(evidenceValue({ value: null, unit: "ms" })).toBe(""));

test("a feature loses its scope and underscores, a sentence keeps its own", () => {
  expect(evidenceName({ what: "run.sync_wait_ms" })).toBe("sync wait ms");
  expect(evidenceName({ what: "calls of my_kernel" })).toBe("calls of my_kernel");
});

test("a place names table and row, row 0 included", () => {
  expect(evidencePlace({ table: "kernel", row: 0 })).toBe("kernel row 0");
  expect(evidencePlace({ table: "kernel", row: null })).toBe("kernel");
  expect(evidencePlace({ table: null, row: 3 })).toBe("");
});
