// SPDX-License-Identifier: Apache-2.0
// A comparison as `neurolens compare` writes it (docs/compare.md). Times are milliseconds, shares 0..1.
// A number is null when it is not finite.
import type {
  AcrossSetups,
  Comparability,
  CompareCounters,
  CompareOptions,
  CompareRow,
  CompareRun,
  CompareVerdict,
  Contribution,
  CostShift,
  Similarity,
} from "./generated";

// The calls of one kernel within a change.
// One change and its cost. The contributions and the residual sum to the difference of the walls.
// Hardware counters of one kernel, each a mean over its executions.
// The device work of one run: arrays of equal length. `change` is the rank of a contribution, `partner` an index into
// the other track.
export interface CompareTrack {
  items_total: number;
  merged_below_ms: number | null;
  start_ms: number[];
  dur_ms: number[];
  name: number[];
  change: (number | null)[];
  partner: (number | null)[];
  count: number[];
}

export interface CompareTimeline {
  names: string[];
  cut: boolean;
  a: CompareTrack;
  b: CompareTrack;
}

export interface FlameFrame {
  name: string;
  a_ms: number;
  b_ms: number;
  children: FlameFrame[];
}

export interface CompareFlame {
  device: FlameFrame | null;
  host: FlameFrame | null;
}

// What the reply and the files have in common.
export interface CompareFacts {
  run_a: string;
  run_b: string;
  similarity: number | null;
  matched_share_a: number | null;
  matched_share_b: number | null;
  fingerprint: Similarity;
  wall_a_ms: number | null;
  wall_b_ms: number | null;
  delta_ms: number | null;
  residual_ms: number | null;
  busy_a_ms: number | null;
  busy_b_ms: number | null;
  verdict: CompareVerdict;
  comparability: Comparability[];
  normalised_by: string | null;
  normal_a_ms: number | null;
  normal_b_ms: number | null;
  // Host speed of B against A in unchanged work; above 1 is slower.
  drift: number | null;
  on_host: boolean;
  // Present when a side has several runs.
  walls_a_ms?: number[];
  walls_b_ms?: number[];
  contributions: Contribution[];
  equal_changes: number;
  shifts: CostShift[];
  by_kernel: CompareRow[];
  by_op: CompareRow[];
  by_module: CompareRow[];
  by_stage: CompareRow[];
  // With different devices, software or recording tools.
  across: AcrossSetups | null;
  counters: CompareCounters[];
  runs: { a: CompareRun[]; b: CompareRun[] };
  options: CompareOptions;
  next: { command: string; why: string }[];
}

// What `compare --html` and `compare --json FILE` write.
export interface CompareDocument extends CompareFacts {
  timeline: CompareTimeline;
  flame: CompareFlame;
}
