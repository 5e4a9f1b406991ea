// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import type { SchemaTable } from "../../data/generated";
import { aliasesIn, completions } from "./sql_complete";

const column = (name: string) => ({ name, type: "BIGINT", unit: "", doc: "" });
const TABLES: SchemaTable[] = [
  { name: "kernel", doc: "Kernels", columns: [column("id"), column("dur_ns"), column("grid_x")] },
  { name: "op", doc: "Operators", columns: [column("id"), column("dur_ns"), column("input_shapes")] },
];
const at = (text: string) => {
  const cursor = text.indexOf("|");
  return completions(text.replace("|", ""), cursor, TABLES).items.map((c) => c.text);
};

test("tables come after FROM and JOIN", () => {
  expect(at("SELECT * FROM |")).toEqual(["kernel", "op"]);
  expect(at("SELECT * FROM kernel k JOIN o|")).toEqual(["op"]);
});

test("columns are those of the named tables", () => {
  expect(at("SELECT gri| FROM kernel")).toContain("grid_x");
  expect(at("SELECT gri| FROM op")).not.toContain("grid_x");
  expect(at("SELECT k.| FROM kernel AS k")).toEqual(["id", "dur_ns", "grid_x"]);
  expect(at("SELECT k.in| FROM kernel k")).toEqual([]);
});

test("keywords are offered, nothing without a word", () => {
  expect(at("SEL|")).toEqual(["SELECT"]);
  expect(at("SELECT 1 |")).toEqual([]);
});

test("a keyword after a table is not its alias", () => {
  expect([...aliasesIn("select 1 from kernel where x join op o on 1")]).toEqual([
    ["kernel", "kernel"],
    ["op", "op"],
    ["o", "op"],
  ]);
});
