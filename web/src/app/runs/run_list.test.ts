// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import type { ListedRun } from "../../data/generated";
import { choicesOf, matchingRuns, withRun, workloadHistories } from "./run_list";

const NONE = { text: "", tag: "", model: "", device: "", format: "", days: 0 };
const run = (id: string, more: Partial<ListedRun> = {}): ListedRun => ({
  run_id: id,
  short_id: id,
  created_at_ns: 1e18,
  backend: "torch",
  model: "llama",
  device: "H200",
  device_count: 1,
  precision: "bf16",
  adapter: "torch",
  tool: "",
  source_name: `${id}.json`,
  source_bytes: 1,
  content_sha256: "",
  wall_ns: 5,
  event_count: 1,
  op_count: 1,
  kernel_count: 1,
  lost_records: 0,
  stored_bytes: 1,
  schema_version: 1,
  tags: {},
  ...more,
});
const ids = (runs: ListedRun[]) => runs.map((r) => r.run_id).join();

test("each filter takes away what does not match", () => {
  const runs = [
    run("a", { tags: { team: "x" } }),
    run("b", { model: "resnet", tags: { team: "y", "<b>": "" } }),
    run("c", { device: "A100", adapter: "nsys", created_at_ns: 1e18 - 10 * 86_400e9 }),
  ];
  const by = (f: object) => ids(matchingRuns(runs, { ...NONE, ...f }, 1e18));
  expect(by({})).toBe("a,b,c");
  expect(by({ model: "llama" })).toBe("a,c");
  expect(by({ device: "A100" })).toBe("c");
  expect(by({ format: "nsys" })).toBe("c");
  expect(by({ tag: "team=" })).toBe("a,b");
  expect(by({ tag: "team=y" })).toBe("b");
  expect(by({ days: 7 })).toBe("a,b");
  expect(by({ text: "RESNET team=y" })).toBe("b");
  expect(by({ text: "resnet nsys" })).toBe("");
  expect(choicesOf(runs).tags).toEqual(["<b>=", "team=x", "team=y"]);
});

test("histories are of one workload, oldest first, and of two runs or more", () => {
  const runs = [
    run("new", { created_at_ns: 3, wall_ns: 30 }),
    run("old", { created_at_ns: 1, wall_ns: 10 }),
    run("other", { precision: "fp32" }),
    run("unnamed", { model: "" }),
  ];
  expect([...workloadHistories(runs).values()]).toEqual([[10, 30]]);
});

test("a new run comes first, a known one is replaced", () => {
  const runs = [run("a"), run("b")];
  expect(ids(withRun(runs, run("c")))).toBe("c,a,b");
  expect(withRun(runs, run("b", { wall_ns: 9 }))[1].wall_ns).toBe(9);
});
