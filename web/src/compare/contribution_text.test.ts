// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest";
import type { Contribution } from "../data/replies";
import { callsText, causeText, confidenceText, pairText, placeText, significanceText } from "./contribution_text";

test("a cause is in words, with its detail", () => {
  expect(causeText({ cause: "kernel_slower", detail: null })).toBe("kernel slower");
  expect(causeText({ cause: "dtype_changed", detail: "bf16 to fp32" })).toBe("dtype changed (bf16 to fp32)");
});

test("a place has the parts that are known", () => {
  expect(placeText({ stage: "decode", module: null, op: "aten::mm" })).toBe("decode · aten::mm");
  expect(placeText({ stage: null, module: "" })).toBe("");
});

describe("confidenceText", () => {
  const of = (confidence: number, cause: Contribution["cause"] = "kernel_slower", merged = 0) =>
    confidenceText({ cause, confidence, merged });
  test("is never rounded up to certainty", () => {
    expect(of(0.9951)).toBe(">99\u00a0%");
    expect(of(0.9949)).toBe("99\u00a0%");
    expect(of(1)).toBe("100\u00a0%");
  });
  test("is unknown for noise, empty for several changes", () => {
    expect(of(0.9, "noise")).toBe("–");
    expect(of(0.9, "kernel_slower", 3)).toBe("");
  });
});

test("a pair is written once when both sides agree", () => {
  expect(pairText("a", "b")).toBe("a → b");
  expect(pairText("a", "a")).toBe("a");
  expect(pairText(null, "b")).toBe("b");
  expect(pairText(null, null)).toBe("");
  expect(callsText({ count_a: 1000, count_b: 1000 })).toBe("1,000");
  expect(callsText({ count_a: 0, count_b: 2 })).toBe("0 → 2");
});

test("significance in words", () => {
  expect(significanceText({ structural: true, significant: true })).toBe("structural change");
  expect(significanceText({ structural: false, significant: true })).toBe("statistically significant");
  expect(significanceText({ structural: false, significant: false })).toBe("not significant");
});
