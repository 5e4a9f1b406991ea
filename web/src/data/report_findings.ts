// SPDX-License-Identifier: Apache-2.0
// Report sections that assess a run: findings, stages, roofline, ranks (src/analyze/passes).

// A row of a table that supports a claim.
export interface Evidence {
  table: string | null;
  row: number | null;
  what: string;
  value: number | null;
  unit: string | null;
}

export interface Diagnosis {
  class: string;
  confidence: number;
  evidence: Evidence[];
  settle: string[];
  nearest: string | null;
}

export interface Finding {
  rule: string;
  title: string;
  severity: "low" | "medium" | "high";
  score: number | null;
  confidence: number;
  impact_ms: number | null;
  cost_ms: number | null;
  counted_in: string[];
  stage: string | null;
  module: string | null;
  op: string | null;
  kernel: string | null;
  message: string;
  suggestions: string[];
  refs: string[];
  evidence: Evidence[];
}

// A suggestion of the profiling tool itself.
export interface ToolFinding {
  tool: string;
  rule: string;
  kernel: string;
  executions: number;
  kernel_ms: number;
  speedup_pct: number | null;
  scope: string | null;
  estimated_ms: number | null;
  message: string;
}

export interface FindingsSection {
  diagnosis: Diagnosis;
  findings: Finding[];
  not_assessed: { rule: string; needs: string[]; advice: string | null }[];
  rules: number;
  tool_findings: ToolFinding[];
}

export interface StageInstance {
  start_ms: number;
  duration_ms: number;
  kernels: number;
  tokens: number | null;
  range_id: number | null;
}

export interface Stage {
  name: string;
  parent: string | null;
  inferred: boolean;
  count: number;
  total_ms: number;
  p50_ms: number;
  p95_ms: number;
  p99_ms: number;
  tokens: number | null;
  tokens_per_s: number | null;
  tokens_reason: string | null;
  forwards: number;
  kernels: number;
  launch_share: number | null;
  idle_share: number | null;
  mfu: number | null;
  mfu_reason: string | null;
  mbu: number | null;
  mbu_reason: string | null;
  flops: number | null;
  bytes: number | null;
  weight_bytes: number | null;
  kv_bytes: number | null;
  device_s: number;
  peak: { tflops: number | null; gbps: number | null; dtype: string | null; source: string | null };
  instances: StageInstance[];
}

export interface ModelShape {
  dims: Record<string, number | string | boolean | null>;
  from: Record<string, string>;
  inferred: boolean;
  missing: string | null;
}

export interface StagesSection {
  source: string | null;
  reason: string | null;
  stages: Stage[];
  ttft_ms: number | null;
  ttft_reason: string | null;
  tpot_ms: number | null;
  tpot_p95_ms: number | null;
  tpot_p99_ms: number | null;
  tpot_reason: string | null;
  model: ModelShape;
  device: string | null;
}

export interface RooflinePoint {
  op: string | null;
  shapes: string | null;
  types: string | null;
  kernel: string | null;
  raw_name: string | null;
  device: number | null;
  calls: number;
  dtype: string | null;
  flops: number | null;
  bytes: number | null;
  ai: number | null;
  tflops: number | null;
  gbps: number | null;
  t_roof_ms: number | null;
  t_measured_ms: number;
  efficiency: number | null;
  bound: string | null;
  source: string | null;
  reason: string | null;
}

export interface DevicePeaks {
  index: number | null;
  device: string;
  bf16_tflops: number | null;
  fp16_tflops: number | null;
  tf32_tflops: number | null;
  fp8_tflops: number | null;
  fp32_tflops: number | null;
  fp64_tflops: number | null;
  dram_gbps: number | null;
  sm_count: number | null;
  source: string;
}

export interface RooflineSection {
  points: RooflinePoint[];
  points_total: number;
  kernels: RooflinePoint[];
  kernels_total: number;
  counted: RooflinePoint[];
  counted_total: number;
  counted_ms: number;
  device_ms: number;
  assessed_ms: number;
  peaks: DevicePeaks[];
  peaks_reason: string | null;
}

export interface RankMember {
  rank: number | null;
  device: number | null;
  file: string | null;
  collectives: number;
  waited_ms: number;
  transfer_ms: number;
  late_ms: number;
  mean_late_ms: number | null;
  last: number;
  held_up_ms: number;
  clock_offset_ms: number | null;
  clock_offset_low_ms: number | null;
  clock_offset_high_ms: number | null;
  clock_bound_ms: number | null;
  clock_consistent: boolean;
  clock_applied: boolean;
  arrival_uncertainty_ms: number | null;
}

export interface RankGroup {
  group: string | null;
  description: string | null;
  ranks: string | null;
  size: number | null;
  matched_by: "sequence" | "order";
  collectives: number;
  incomplete: number;
  skew_ms: number;
  skew_p50_ms: number;
  skew_p95_ms: number;
  max_skew_ms: number;
  transfer_ms: number;
  transfer_p50_ms: number;
  most_often_last: number | null;
  last_count: number;
}

export interface Collective {
  group: string | null;
  sequence: number;
  name: string | null;
  dtype: string | null;
  in_elements: number | null;
  start_ms: number;
  skew_ms: number;
  transfer_ms: number;
  first: number;
  last: number;
  everyone_waits: boolean;
  arrivals: { who: number; table: "op" | "kernel"; row: number; late_ms: number; dur_ms: number }[];
}

export interface RanksSection {
  members_are: "ranks" | "devices";
  times_of: "host calls" | "device kernels";
  not_assessed: string | null;
  waited_ms: number;
  transfer_ms: number;
  collectives_total: number;
  impossible: number;
  members: RankMember[];
  clocks_corrected: boolean;
  groups: RankGroup[];
  collectives: Collective[];
  unmatched: { why: string; count: number }[];
}
