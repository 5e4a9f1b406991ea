// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import type { Expectation, KeptResult, KeptTarget, ListedPair, QueueProgress } from "../../data/generated";
import { expectedOf, historyOf, progressText, speedupText } from "./bench_rows";

const target = (speedup: number | null, name = "cpp:sum"): KeptTarget => ({
  target: name,
  outcome: speedup === null ? "failed" : "faster",
  speedup,
  speedup_low: speedup === null ? null : speedup - 0.1,
  speedup_high: speedup === null ? null : speedup + 0.1,
  baseline_ms: null,
  optimized_ms: null,
});
const result = (id: string, ...targets: KeptTarget[]): KeptResult => ({
  result_id: id,
  kind: "bench",
  created_at: id,
  title: "",
  suite: null,
  hardware: null,
  targets,
});
const progress: QueueProgress = {
  pid: 1,
  engine: "local",
  phase: "running",
  entry_id: "a",
  title: "train",
  waiting_for: null,
  entry_pid: 2,
  finished: 3,
  remaining: 2,
  percent: 60,
  eta_s: 40,
  eta_reason: null,
  gpu_looks: 0,
  overlap_seen: false,
  gpu_problem: null,
  updated_at: "",
};

test("a speedup has its interval, and what was not measured is a dash", () => {
  expect(speedupText(target(1.5))).toBe("1.50× (1.40 to 1.60)");
  expect(speedupText(target(null))).toBe("–");
});

test("a history is of one pair, oldest first", () => {
  const results = [result("3", target(3)), result("2", target(null)), result("1", target(9, "other"), target(1))];
  expect(historyOf(results, "cpp:sum").map((p) => `${p.result_id} ${p.speedup}`)).toEqual(["1 1", "3 3"]);
});

test("what is expected is that of the hardware of the last result", () => {
  const of = (hardware: string) => ({ provenance: { hardware } }) as Expectation;
  const pair = (hardware: string | null, ...expected: Expectation[]) =>
    ({ expected, last: hardware === null ? null : { hardware } }) as ListedPair;
  expect(expectedOf(pair("H200", of("A100"), of("H200")))?.provenance.hardware).toBe("H200");
  expect(expectedOf(pair("L4", of("A100")))).toBeNull();
  expect(expectedOf(pair(null, of("A100")))?.provenance.hardware).toBe("A100");
  expect(expectedOf(pair(null, of("A100"), of("H200")))).toBeNull();
});

test("progress names the entry and what is left", () => {
  expect(progressText(progress)).toMatch(/^Running train: 3 finished, 2 to go, about 40/);
  expect(progressText({ ...progress, phase: "idle", title: null, eta_s: null })).toBe("Idle: 3 finished, 2 to go");
  expect(progressText({ ...progress, phase: "waiting_for_gpu", title: null, waiting_for: "pid 7" })).toContain(
    "(pid 7)",
  );
});
