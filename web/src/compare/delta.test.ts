// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest";
import { channels, deltaScale, kindOf, relativeChange, shareText, signedMs, signedPct } from "./delta";

test("an increase has a plus, a decrease its minus, no change neither", () => {
  expect(signedMs(1.5)).toBe("+1.50\u00a0ms");
  expect(signedMs(-1.5)).toBe("-1.50\u00a0ms");
  expect(signedMs(0)).toBe("0");
  expect(signedMs(null)).toBe("–");
  expect(signedMs(1e-9)).toBe("0");
  expect(signedPct(0.0001)).toBe("0.0\u00a0%");
  expect(signedPct(-0.0001)).toBe("0.0\u00a0%");
  expect(signedPct(0.1)).toBe("+10.0\u00a0%");
  expect(signedPct(-0.1)).toBe("-10.0\u00a0%");
  expect(signedPct(0)).toBe("0.0\u00a0%");
  expect(signedPct(null)).toBe("–");
});

describe("relativeChange", () => {
  test("is relative to A", () => {
    expect(relativeChange(2, 3)).toBe(0.5);
    expect(relativeChange(4, 0)).toBe(-1);
  });
  test("is unknown when A is 0 or a side is unknown", () => {
    for (const [a, b] of [
      [0, 3],
      [null, 3],
      [3, null],
    ])
      expect(relativeChange(a, b)).toBeNull();
  });
});

describe("shareText", () => {
  test.each([
    [0.123, "12.3\u00a0%"],
    [-0.5, "-50.0\u00a0%"],
    [-0.0001, "0.0\u00a0%"],
    [9.99, "999.0\u00a0%"],
    [10, ">999\u00a0%"],
    [-10, "<−999\u00a0%"],
    [null, "–"],
    [Number.NaN, "–"],
    [Number.POSITIVE_INFINITY, "–"],
  ])("%s is %s", (value, text) => expect(shareText(value)).toBe(text));
});

test("only an increase is slower", () => {
  expect([1, 0, -1, null].map(kindOf)).toEqual(["slower", "faster", "faster", "faster"]);
});

describe("deltaScale", () => {
  const shade = deltaScale({ faster: "rgb(0, 200, 0)", same: "rgb(100, 100, 100)", slower: "rgb(255, 0, 0)" });
  test("has the three colours of the palette", () => {
    expect(shade(-1)).toBe("rgb(0 200 0)");
    expect(shade(0)).toBe("rgb(100 100 100)");
    expect(shade(1)).toBe("rgb(255 0 0)");
  });
  test("mixes between them and stops at the ends", () => {
    expect(shade(-0.5)).toBe("rgb(50 150 50)");
    expect(shade(7)).toBe(shade(1));
    expect(shade(-7)).toBe(shade(-1));
  });
});

test("channels of a colour, with and without alpha", () => {
  expect(channels("rgb(1, 2, 3)")).toEqual([1, 2, 3]);
  expect(channels("rgba(1, 2, 3, 0.5)")).toEqual([1, 2, 3]);
  expect(channels("none")).toEqual([0, 0, 0]);
});
