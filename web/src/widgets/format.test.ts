// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest";
import { bytes, capitalised, count, cut, ms, pct, plain, plural, short3, us } from "./format";

describe("ms", () => {
  test.each([
    [0, "0"],
    [-0, "0"],
    [0.0000005, "1 ns"],
    [0.00025, "250 ns"],
    [0.001, "1.0 µs"],
    [0.9999, "999.9 µs"],
    [1, "1.00 ms"],
    [9.99, "9.99 ms"],
    [10, "10.0 ms"],
    [999.94, "999.9 ms"],
    [1000, "1.00 s"],
    [-0.5, "-500.0 µs"],
    [-2000, "-2.00 s"],
  ])("%d is %s", (value, text) => expect(ms(value)).toBe(text));
});

test("a missing value is a dash in every format", () => {
  for (const missing of [null, undefined, Number.NaN, Number.POSITIVE_INFINITY])
    for (const format of [ms, us, pct, count, bytes, short3]) expect(format(missing)).toBe("–");
});

test("microseconds take the unit that fits", () => {
  expect(us(0.25)).toBe("250 ns");
  expect(us(12)).toBe("12.0 µs");
  expect(us(2_500_000)).toBe("2.50 s");
});

test("a share is a percentage", () => {
  expect(pct(0)).toBe("0.0 %");
  expect(pct(1)).toBe("100.0 %");
  expect(pct(0.0734, 0)).toBe("7 %");
  expect(pct(-0.5)).toBe("-50.0 %");
});

test("counts have separators, nouns their plural", () => {
  expect(count(1234567)).toBe("1,234,567");
  expect(plural(1, "run")).toBe("1 run");
  expect(plural(0, "run")).toBe("0 runs");
  expect(plural(1200, "span")).toBe("1,200 spans");
});

test("bytes never show four digits before the point", () => {
  expect(bytes(0)).toBe("0 B");
  expect(bytes(999)).toBe("999 B");
  expect(bytes(1000)).toBe("1.0 kB");
  expect(bytes(999_499)).toBe("999.5 kB");
  expect(bytes(999_500)).toBe("1.0 MB");
  expect(bytes(2e18)).toBe("2000.0 PB");
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
  expect(capitalised("")).toBe("");
  expect(capitalised("two kernels")).toBe("Two kernels");
});
