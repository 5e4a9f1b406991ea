// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { rowWindow, scrollToRow } from "./virtual_rows";

test("only rows in sight and their neighbours are shown", () => {
  expect(rowWindow(10_000, 30, 0, 600)).toEqual({ first: 0, last: 28 });
  expect(rowWindow(10_000, 30, 150_000, 600)).toEqual({ first: 4992, last: 5028 });
  expect(rowWindow(10_000, 30, 299_400, 600)).toEqual({ first: 9972, last: 10_000 });
  expect(rowWindow(3, 30, 0, 600)).toEqual({ first: 0, last: 3 });
  expect(rowWindow(0, 30, 900, 600)).toEqual({ first: 0, last: 0 });
});

test("a row out of sight is scrolled to, one in sight is not", () => {
  expect(scrollToRow(5, 30, 0, 600)).toBe(0);
  expect(scrollToRow(5, 30, 600, 600)).toBe(150);
  expect(scrollToRow(100, 30, 0, 600)).toBe(2460);
});
