// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { sequence } from "./keys";

const known = new Set(["g r", "g c", "?", "r"]);

test("a sequence of two keys wins over the single one", () => {
  expect(sequence("g", "r", known)).toBe("g r");
  expect(sequence("", "r", known)).toBe("r");
  expect(sequence("x", "?", known)).toBe("?");
});

test("a first key alone completes nothing", () => {
  expect(sequence("", "g", known)).toBe("");
  expect(sequence("g", "z", known)).toBe("");
});
