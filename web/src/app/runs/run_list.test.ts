// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import type { ListedRun, LsReply } from "../../data/generated";
import { deviceText, listFields, PAGE_RUNS, pagesOf, RunPages, sourceText, workloadOf } from "./run_list";

const NONE = { text: "", tag: "", model: "", device: "", backend: "", format: "", days: 0 };
const NEWEST = { key: "created", descending: true };
const run = (id: string): ListedRun => ({ run_id: id, short_id: id }) as ListedRun;
const reply = (runs_total: number, ids: string[]): LsReply =>
  ({ store: "", total: 500, runs_total, next_offset: null, runs: ids.map(run) }) as LsReply;

test("filters and order become fields of the server", () => {
  const fields = (f: object, order = NEWEST) => {
    const { history: _, ...rest } = listFields({ ...NONE, ...f }, order);
    return rest;
  };
  expect(fields({})).toEqual({ sort: "created" });
  expect(fields({ text: "  llama bf16 " })).toEqual({ sort: "created", text: "llama bf16" });
  expect(fields({ model: "llama", days: 7 })).toEqual({ sort: "created", model: "llama", exact: "true", since: "7d" });
  expect(fields({ backend: "torch" })).toEqual({ sort: "created", backend: "torch" });
  expect(fields({ format: "nsys", tag: "a=b" }, { key: "size", descending: false })).toEqual({
    sort: "stored",
    reverse: "true",
    format: "nsys",
    tag: "a=b",
  });
  expect(fields({}, { key: "<b>", descending: true }).sort).toBe("created");
});

test("rows of a window lie on one page or two", () => {
  expect(pagesOf(0, 10)).toEqual([0]);
  expect(pagesOf(PAGE_RUNS - 1, PAGE_RUNS + 1)).toEqual([0, 1]);
  expect(pagesOf(PAGE_RUNS, 2 * PAGE_RUNS)).toEqual([1]);
  expect(pagesOf(0, 0)).toEqual([]);
});

test("pages that are there are shown, others are not known", () => {
  const list = RunPages.with(null, "a", 0, 1, reply(250, ["x", "y"]));
  expect(list.length).toBe(250);
  expect(list.total).toBe(500);
  expect(list.at(0)).toBeUndefined();
  expect(list.at(PAGE_RUNS + 1)?.run_id).toBe("y");
  expect(list.hasPage(0)).toBe(false);
  const both = RunPages.with(list, "a", 0, 0, reply(250, ["w"]));
  expect([...both.runs()].map((r) => r.run_id)).toEqual(["x", "y", "w"]);
});

test("a list that is asked for anew keeps a page until it is there again; another list keeps none", () => {
  const before = RunPages.with(RunPages.with(null, "a", 0, 0, reply(250, ["x"])), "a", 0, 1, reply(250, ["y"]));
  const anew = RunPages.with(before, "a", 1, 0, reply(249, ["z"]));
  expect(anew.at(0)?.run_id).toBe("z");
  expect(anew.at(PAGE_RUNS)?.run_id).toBe("y");
  expect(anew.hasPage(1)).toBe(false);
  expect(anew.isCurrent("a", 1)).toBe(true);
  const other = RunPages.with(anew, "b", 1, 0, reply(101, ["z"]));
  expect(other.at(PAGE_RUNS)).toBeUndefined();
});

test("devices without a name are GPUs where any were used", () => {
  expect(deviceText({ device: "NVIDIA H200", device_count: 1 })).toBe("NVIDIA H200");
  expect(deviceText({ device: "", device_count: 8 })).toBe("8 × GPU");
  expect(deviceText({ device: "", device_count: 0, kernel_count: 12 })).toBe("GPU");
  expect(deviceText({ device: "", device_count: 0, kernel_count: 0 })).toBe("CPU");
});

test("the source is shown where it says more than the model", () => {
  expect(sourceText({ model: "base", source_name: "base.json.gz" })).toBe("");
  expect(sourceText({ model: "llama", source_name: "trace_7.json" })).toBe("trace_7.json");
  expect(sourceText({ model: "rocprofv3", source_name: "rocprofv3_hip_trace.csv" })).toBe("rocprofv3_hip_trace.csv");
  expect(sourceText({ model: "", source_name: "trace_7.json" })).toBe("");
});

test("a run without a model has no workload", () => {
  const one = { model: "m", device: "d", device_count: 1, precision: "bf16", backend: "torch" };
  expect(workloadOf(one)).not.toBe(workloadOf({ ...one, device_count: 2 }));
  expect(workloadOf({ ...one, model: "" })).toBe("");
});
