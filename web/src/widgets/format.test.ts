// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest";
import { bytes, capitalised, count, cut, ms, pct, plain, plural, short3, us } from "./format";

describe("ms", () => {
  test.each([
    [0, "0"],
    [-0, "0"],
    [-1e-9, "0"],
    [0.0000005, "1\u00a0ns"],
    [0.00025, "250\u00a0ns"],
    [0.001, "1.0\u00a0µs"],
    [0.9999, "999.9\u00a0µs"],
    [1, "1.00\u00a0ms"],
    [9.99, "9.99\u00a0ms"],
    [10, "10.0\u00a0ms"],
    [999.94, "999.9\u00a0ms"],
    [1000, "1.00\u00a0s"],
    [-0.5, "-500.0\u00a0µs"],
    [-2000, "-2.00\u00a0s"],
  ])("%d is %s", (value, text) => expect(ms(value)).toBe(text));
});

test("a missing value is a dash in every format", () => {
  for (const missing of [null, undefined, Number.NaN, Number.POSITIVE_INFINITY])
    for (const format of [ms, us, pct, count, bytes, short3]) expect(format(missing)).toBe("–");
});

test("microseconds take the unit that fits", () => {
  expect(us(0.25)).toBe("250\u00a0ns");
  expect(us(12)).toBe("12.0\u00a0µs");
  expect(us(2_500_000)).toBe("2.50\u00a0s");
});

test("a share is a percentage", () => {
  expect(pct(0)).toBe("0.0\u00a0%");
  expect(pct(1)).toBe("100.0\u00a0%");
  expect(pct(0.0734, 0)).toBe("7\u00a0%");
  expect(pct(-0.5)).toBe("-50.0\u00a0%");
});

test("counts have separators, nouns their plural", () => {
  expect(count(1234567)).toBe("1,234,567");
  expect(plural(1, "run")).toBe("1 run");
  expect(plural(0, "run")).toBe("0 runs");
  expect(plural(1200, "span")).toBe("1,200 spans");
});

test("bytes never show four digits before the point", () => {
  expect(bytes(0)).toBe("0\u00a0B");
  expect(bytes(999)).toBe("999\u00a0B");
  expect(bytes(1000)).toBe("1.0\u00a0kB");
  expect(bytes(999_499)).toBe("999.5\u00a0kB");
  expect(bytes(999_500)).toBe("1.0\u00a0MB");
  expect(bytes(2e18)).toBe("2000.0\u00a0PB");
});

test("three digits", () => {
  expect(short3(1234.5)).toBe("1230");
  expect(short3(0.0012345)).toBe("0.00123");
});

describe("cut", () => {
  test("keeps a text that fits", () => expect(cut("abcd", 4)).toBe("abcd"));
  test("cuts in the middle to the length", () => {
    expect(cut("abcdefghij", 6)).toBe("abc…ij");
    expect(cut("abcdefghij", 7)).toHaveLength(7);
  });
});

test("words", () => {
  expect(plain("host_range_x")).toBe("host range x");
  expect(["api_call", "cpu_bound", "gpu", "capital"].map(plain)).toEqual(["API call", "CPU bound", "GPU", "capital"]);
  expect(capitalised("")).toBe("");
  expect(capitalised("two kernels")).toBe("Two kernels");
});
