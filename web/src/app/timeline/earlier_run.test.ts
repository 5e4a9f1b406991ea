// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import type { ListedRun } from "../../data/generated";
import { earlierRun } from "./earlier_run";

const run = (run_id: string, created_at_ns: number, model = "llama", device = "H200"): ListedRun =>
  ({ run_id, created_at_ns, model, device, device_count: 1, precision: "bf16", backend: "torch" }) as ListedRun;

test("the last run of the same workload before this one", () => {
  const runs = [run("new", 40), run("self", 30), run("other", 25, "llama", "H100"), run("near", 20), run("far", 10)];
  expect(earlierRun(runs, "self")?.run_id).toBe("near");
  expect(earlierRun(runs, "far")).toBeNull();
  expect(earlierRun(runs, "missing")).toBeNull();
  expect(earlierRun([run("a", 1, ""), run("b", 2, "")], "b")).toBeNull();
});
