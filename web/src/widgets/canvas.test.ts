// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { fittingText, hueOf } from "./canvas";

test("a label is cut to the room it has", () => {
  expect(fittingText("gemm_kernel", 100, 6)).toBe("gemm_kernel");
  expect(fittingText("gemm_kernel", 36, 6)).toBe("gemm…");
  expect(fittingText("gemm_kernel", 36, 6)).toHaveLength(5);
});

test("a box with room for less than three characters has no label", () => {
  expect(fittingText("ab", 23, 6)).toBe("");
  expect(fittingText("ab", 24, 6)).toBe("ab");
  expect(fittingText("ab", 0, 6)).toBe("");
});

test("a hue depends on the name alone and is one of ten", () => {
  const hues = ["", "aten::mm", "aten::mm ", "x".repeat(1000)].map(hueOf);
  for (const hue of hues) expect(hue >= 0 && hue < 10 && Number.isInteger(hue)).toBe(true);
  expect(hueOf("aten::mm")).toBe(hues[1]);
  expect(new Set(Array.from({ length: 100 }, (_, i) => hueOf(`kernel_${i}`))).size).toBe(10);
});
