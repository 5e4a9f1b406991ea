// SPDX-License-Identifier: Apache-2.0
// Texts and choices of the Bench view, apart from how it is drawn.
import type { Expectation, KeptResult, KeptTarget, ListedPair, QueueEntry, QueueProgress } from "../../data/generated";
import { count, cut, ms } from "../../widgets/format";

const ratio = (value: number): string => `${value.toFixed(2)}×`;

/** "1.52× (1.49 to 1.55)"; what was not measured is a dash. */
export function speedupText(t: Pick<KeptTarget, "speedup" | "speedup_low" | "speedup_high">): string {
  if (t.speedup === null) return "–";
  if (t.speedup_low === null || t.speedup_high === null) return ratio(t.speedup);
  return `${ratio(t.speedup)} (${t.speedup_low.toFixed(2)} to ${t.speedup_high.toFixed(2)})`;
}

/** What is expected on the hardware of the last result; null: nothing is, or it is not known which. */
export function expectedOf(pair: Pick<ListedPair, "expected" | "last">): Expectation | null {
  const hardware = pair.last?.hardware;
  if (hardware) return pair.expected.find((e) => e.provenance.hardware === hardware) ?? null;
  return pair.expected.length === 1 ? pair.expected[0] : null;
}

export const timesText = (t: KeptTarget): string =>
  t.baseline_ms === null || t.optimized_ms === null ? "–" : `${ms(t.baseline_ms)} → ${ms(t.optimized_ms)}`;

export const titleOf = (e: QueueEntry): string => cut(e.name ?? (e.command.join(" ") || "script"), 120);

const PHASES: Record<QueueProgress["phase"], string> = {
  idle: "Idle",
  waiting_for_gpu: "Waiting for other GPU work",
  running: "Running",
  following: "Following Slurm",
  importing: "Importing recordings of",
  stopping: "Stopping after",
};

/** "Running train: 3 finished, 2 to go, about 40 s left". */
export function progressText(p: QueueProgress): string {
  const what = [PHASES[p.phase], p.title ? cut(p.title, 80) : ""].filter(Boolean).join(" ");
  const waits = p.waiting_for ? ` (${cut(p.waiting_for, 80)})` : "";
  const left = p.eta_s === null ? "" : `, about ${ms(p.eta_s * 1000)} left`;
  return `${what}${waits}: ${count(p.finished)} finished, ${count(p.remaining)} to go${left}`;
}

export interface HistoryPoint {
  result_id: string;
  created_at: string;
  speedup: number;
}

/** Speedups of one pair, oldest first; results that did not measure it are left out. */
export function historyOf(results: KeptResult[], target: string): HistoryPoint[] {
  return results
    .flatMap((r) =>
      r.targets
        .filter((t) => t.target === target && t.speedup !== null)
        .map((t) => ({ result_id: r.result_id, created_at: r.created_at, speedup: t.speedup as number })),
    )
    .reverse();
}
