// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest";
import type { SortKey } from "./sort_rows";
import { compareCells, filterRows, nextOrder, sortedSecond, sortRows } from "./sort_rows";

interface Row {
  name: string | null;
  ms: number | null;
}
const COLUMNS: SortKey<Row>[] = [
  { key: "name", text: true, value: (r) => r.name },
  { key: "ms", value: (r) => r.ms },
];
const ROWS: Row[] = [
  { name: "gemm", ms: 2 },
  { name: null, ms: -1 },
  { name: "Add", ms: null },
  { name: "copy", ms: 10 },
];
const times = (rows: Row[]) => rows.map((r) => r.ms);

describe("sortRows", () => {
  test("numbers sort as numbers, missing values last in both directions", () => {
    expect(times(sortRows(ROWS, COLUMNS, { key: "ms", descending: true }))).toEqual([10, 2, -1, null]);
    expect(times(sortRows(ROWS, COLUMNS, { key: "ms", descending: false }))).toEqual([-1, 2, 10, null]);
  });

  test("text sorts by alphabet, not by character code", () => {
    const names = sortRows(ROWS, COLUMNS, { key: "name", descending: false }).map((r) => r.name);
    expect(names).toEqual(["Add", "copy", "gemm", null]);
  });

  test("an unknown column keeps the order, the input is not changed", () => {
    expect(times(sortRows(ROWS, COLUMNS, { key: "", descending: true }))).toEqual([2, -1, null, 10]);
    sortRows(ROWS, COLUMNS, { key: "ms", descending: true });
    expect(times(ROWS)).toEqual([2, -1, null, 10]);
  });

  test("equal values keep their order in both directions", () => {
    const same: Row[] = ["a", "b", "c"].map((name) => ({ name, ms: 1 }));
    for (const descending of [true, false])
      expect(sortRows(same, COLUMNS, { key: "ms", descending }).map((r) => r.name)).toEqual(["a", "b", "c"]);
  });
});

describe("filterRows", () => {
  test("finds a part of a name in either case", () => {
    expect(filterRows(ROWS, COLUMNS, " GEM ").map((r) => r.name)).toEqual(["gemm"]);
    expect(filterRows(ROWS, COLUMNS, "add").map((r) => r.name)).toEqual(["Add"]);
  });

  test("looks into text columns only", () => {
    expect(filterRows(ROWS, COLUMNS, "10")).toEqual([]);
  });

  test("nothing but blanks keeps every row", () => {
    expect(filterRows(ROWS, COLUMNS, "   ")).toHaveLength(4);
  });

  test("a missing name does not match its own word", () => {
    expect(filterRows(ROWS, COLUMNS, "null")).toEqual([]);
  });
});

test("two missing values are equal, NaN is missing", () => {
  expect(compareCells(null, undefined, true)).toBe(0);
  expect(compareCells(Number.NaN, 1, false)).toBeGreaterThan(0);
  expect(compareCells(1, Number.NaN, true)).toBeLessThan(0);
});

test("a click turns the order, another column starts with its natural one", () => {
  expect(nextOrder({ key: "ms", descending: true }, { key: "ms", value: () => 0 })).toEqual({
    key: "ms",
    descending: false,
  });
  expect(nextOrder({ key: "ms", descending: false }, { key: "name", text: true, value: () => "" })).toEqual({
    key: "name",
    descending: false,
  });
  expect(nextOrder({ key: "name", descending: false }, { key: "ms", value: () => 0 })).toEqual({
    key: "ms",
    descending: true,
  });
});

test("the sorted column comes after the first one, the others keep their order", () => {
  const keys = (key: string) =>
    sortedSecond(
      ["name", "family", "device", "total"].map((k) => ({ key: k })),
      { key, descending: true },
    )
      .map((c) => c.key)
      .join(" ");
  expect(keys("total")).toBe("name total family device");
  for (const key of ["name", "family", ""]) expect(keys(key)).toBe("name family device total");
});
