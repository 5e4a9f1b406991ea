// SPDX-License-Identifier: Apache-2.0
// A comparison as `neurolens compare` writes it (docs/compare.md). Times are milliseconds, shares 0..1.
// A number is null when it is not finite.

export interface CompareEvidence {
  table: string;
  row: number;
  what: string;
  value: number | null;
  unit: string | null;
}

// The calls of one kernel within a change.
export interface ContributionPart {
  op: string | null;
  kernel_a: string | null;
  kernel_b: string | null;
  shapes_a: string | null;
  shapes_b: string | null;
  change: string | null;
  count_a: number;
  count_b: number;
  a_ms: number | null;
  b_ms: number | null;
  delta_ms: number | null;
}

// One change and its cost. The contributions and the residual sum to the difference of the walls.
export interface Contribution {
  rank: number;
  cause: string;
  detail: string | null;
  stage: string | null;
  module: string | null;
  op: string | null;
  kernel_a: string | null;
  kernel_b: string | null;
  shapes_a: string | null;
  shapes_b: string | null;
  count_a: number;
  count_b: number;
  a_ms: number | null;
  b_ms: number | null;
  delta_ms: number | null;
  share: number | null;
  count_effect_ms: number | null;
  speed_effect_ms: number | null;
  idle_effect_ms: number | null;
  busy_a_ms: number | null;
  busy_b_ms: number | null;
  structural: boolean;
  significant: boolean;
  confidence: number | null;
  p_value: number | null;
  // How many smaller changes this one sums; 0 for a single change.
  merged: number;
  evidence_a: CompareEvidence[];
  evidence_b: CompareEvidence[];
  text: string;
  parts: ContributionPart[];
}

export interface CompareRow {
  name: string;
  count_a: number;
  count_b: number;
  a_ms: number | null;
  b_ms: number | null;
  delta_ms: number | null;
  busy_a_ms: number | null;
  busy_b_ms: number | null;
}

export interface CostShift {
  stage: string | null;
  module: string | null;
  from: string;
  to: string;
  ms: number | null;
}

export interface Comparability {
  what: string;
  a: string | null;
  b: string | null;
  consequence: string | null;
}

export interface CompareVerdict {
  class: "regressed" | "improved" | "same" | "undecided";
  confidence: number | null;
  p_value: number | null;
  more_runs_needed: number | null;
  text: string;
}

// Hardware counters of one kernel, each a mean over its executions.
export interface KernelCounters {
  kernels: number;
  total_ms: number;
  source: string;
  achieved_occupancy: number | null;
  warp_execution_efficiency: number | null;
  l2_hit_rate: number | null;
  dram_read_gb: number | null;
  dram_write_gb: number | null;
  sm_efficiency: number | null;
  tensor_active: number | null;
}

export interface CompareCounters {
  kernel: string;
  a: KernelCounters | null;
  b: KernelCounters | null;
}

export interface Divergence {
  name: string;
  type: string;
  index_a: number | null;
  index_b: number | null;
  distance: number;
  lat_norm_a: number | null;
  lat_norm_b: number | null;
}

export interface Similarity {
  similarity: number;
  cosine: number;
  plain: number;
  matched_share_a: number;
  matched_share_b: number;
  matched_ops: number;
  substituted: number;
  divergent: Divergence[];
}

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

export interface CompareRun {
  run_id: string;
  name: string | null;
  model: string | null;
  device: string | null;
  created_at: string | null;
}

export interface CompareOptions {
  stage: string | null;
  step: number | null;
  time: "wall" | "device";
  metric: "weighted" | "plain";
}

export interface WrittenFile {
  path: string;
  form: "md" | "html" | "json";
  bytes: number;
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
  shifts: CostShift[];
  by_kernel: CompareRow[];
  by_op: CompareRow[];
  by_module: CompareRow[];
  by_stage: CompareRow[];
  counters: CompareCounters[];
  runs: { a: CompareRun[]; b: CompareRun[] };
  options: CompareOptions;
  next: { command: string; why: string }[];
}

export interface CompareReply extends CompareFacts {
  files: WrittenFile[];
}

// What `compare --html` and `compare --json FILE` write.
export interface CompareDocument extends CompareFacts {
  timeline: CompareTimeline;
  flame: CompareFlame;
}
