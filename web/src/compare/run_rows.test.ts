// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest";
import type { CompareRun } from "../data/replies";
import { runRows, sideName } from "./run_rows";

const run = (run_id: string, name: string | null = null): CompareRun => ({
  run_id,
  name,
  model: null,
  device: null,
  created_at: null,
});

describe("runRows", () => {
  test("a single run has the wall of its side", () => {
    const rows = runRows({
      runs: { a: [run("1")], b: [run("2")] },
      wall_a_ms: 10,
      wall_b_ms: null,
      walls_a_ms: [],
      walls_b_ms: [],
    });
    expect(rows.map((r) => [r.side, r.run_id, r.wall_ms])).toEqual([
      ["A", "1", 10],
      ["B", "2", null],
    ]);
  });
  test("each of several runs has its own", () => {
    const rows = runRows({
      runs: { a: [run("1"), run("2")], b: [run("3")] },
      wall_a_ms: 10,
      wall_b_ms: 20,
      walls_a_ms: [9, 11],
      walls_b_ms: [21],
    });
    expect(rows.map((r) => r.wall_ms)).toEqual([9, 11, 21]);
  });
  test("the wall of a side is not that of one of several runs", () => {
    const rows = runRows({
      runs: { a: [run("1"), run("2")], b: [] },
      wall_a_ms: 10,
      wall_b_ms: 20,
      walls_a_ms: [],
      walls_b_ms: [],
    });
    expect(rows.map((r) => r.wall_ms)).toEqual([null, null]);
  });
});

describe("sideName", () => {
  test("is the source of the run that was compared, and counts the others", () => {
    const facts = { run_a: "2", run_b: "9", runs: { a: [run("1", "x.json"), run("2", "y.json")], b: [run("9")] } };
    expect(sideName(facts, "a")).toBe("y.json and 1 more");
    expect(sideName(facts, "b")).toBe("9");
  });
  test("is the id when no run is listed", () => {
    expect(sideName({ run_a: "1", run_b: "2", runs: { a: [], b: [] } }, "b")).toBe("2");
  });
});
