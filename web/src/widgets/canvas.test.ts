// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest";
import { fittingText, hueOf } from "./canvas";

describe("fittingText", () => {
  // Letters of 6 pixels, but W of 12.
  const measure = (text: string) => [...text].reduce((sum, c) => sum + (c === "W" ? 12 : 6), 0);
  test("keeps a text that fits", () => expect(fittingText("gemm_kernel", 100, measure)).toBe("gemm_kernel"));
  test.each([30, 37, 48, 60, 71])("cuts a text to %d pixels, wide letters included", (room) => {
    for (const text of ["gemm_kernel_with_a_long_name", "WWWWWWWWWWWWWWWW", "iiiiWWWWWWWWWWWW", "WWWWiiiiiiiiiiii"]) {
      const shown = fittingText(text, room, measure);
      expect(measure(shown)).toBeLessThanOrEqual(room - 6);
      if (shown) expect(shown.endsWith("…") && text.startsWith(shown.slice(0, -1))).toBe(true);
    }
  });
  test("a box too small for three characters has no label", () => {
    expect(fittingText("gemm_kernel", 16, measure)).toBe("");
    expect(fittingText("gemm_kernel", 0, measure)).toBe("");
  });
  test("a short name fits into a small box", () => expect(fittingText("ab", 18, measure)).toBe("ab"));
});

test("a hue depends on the name alone and is one of ten", () => {
  const hues = ["", "aten::mm", "aten::mm ", "x".repeat(1000)].map(hueOf);
  for (const hue of hues) expect(hue >= 0 && hue < 10 && Number.isInteger(hue)).toBe(true);
  expect(hueOf("aten::mm")).toBe(hues[1]);
  expect(new Set(Array.from({ length: 100 }, (_, i) => hueOf(`kernel_${i}`))).size).toBe(10);
});
