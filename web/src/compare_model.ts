// SPDX-License-Identifier: Apache-2.0
// The model of a comparison as neurolens writes it (docs/compare.md). Any number may be null.
import type { Evidence } from "./model";

type Num = number | null;
type Text = string | null;
export interface CallPart {
  op: Text; kernel_a: Text; kernel_b: Text; shapes_a: Text; shapes_b: Text; change: Text; count_a: number; count_b: number;
  a_ms: Num; b_ms: Num; delta_ms: Num;
}
export interface Contribution extends Omit<CallPart, "change"> {
  rank: number; cause: string; detail: Text; stage: Text; module: Text; share: Num;
  count_effect_ms: Num; speed_effect_ms: Num; idle_effect_ms: Num; busy_a_ms: Num; busy_b_ms: Num;
  structural: boolean; significant: boolean; confidence: Num; p_value: Num; merged: number;
  evidence_a: Evidence[]; evidence_b: Evidence[]; text: string; parts: CallPart[];
}
export interface CompareRow { name: string; count_a: number; count_b: number; a_ms: Num; b_ms: Num; delta_ms: Num; busy_a_ms: Num; busy_b_ms: Num }
export interface Track {
  items_total: number; merged_below_ms: Num; start_ms: number[]; dur_ms: number[]; name: number[]; change: Num[]; partner: Num[]; count: number[];
}
export interface FlameFrame { name: string; a_ms: number; b_ms: number; children: FlameFrame[] }
export interface RunInfo { run_id: string; name: Text; model: Text; device: Text; created_at: Text }
export interface KernelCounters { kernels: number; total_ms: Num; source: Text; [metric: string]: unknown }
export interface Comparison {
  run_a: string; run_b: string; similarity: Num; matched_share_a: Num; matched_share_b: Num; wall_a_ms: Num; wall_b_ms: Num; delta_ms: Num;
  residual_ms: Num; busy_a_ms: Num; busy_b_ms: Num; drift: Num; on_host: boolean;
  verdict: { class: string; confidence: Num; p_value: Num; more_runs_needed: Num; text: string };
  comparability: { what: string; a: Text; b: Text; consequence: Text }[];
  normalised_by: Text; normal_a_ms: Num; normal_b_ms: Num; walls_a_ms?: number[]; walls_b_ms?: number[];
  contributions: Contribution[]; shifts: { stage: Text; module: Text; from: string; to: string; ms: Num }[];
  by_kernel: CompareRow[]; by_op: CompareRow[]; by_module: CompareRow[]; by_stage: CompareRow[];
  counters?: { kernel: string; a: KernelCounters | null; b: KernelCounters | null }[];
  fingerprint?: {
    similarity: Num; cosine: Num; plain: Num; matched_ops: number; substituted: number;
    divergent: { name: string; type: string; index_a: Num; index_b: Num; distance: number; lat_norm_a: Num; lat_norm_b: Num }[];
  };
  timeline?: { names: string[]; cut: boolean; a: Track; b: Track };
  flame?: { device: FlameFrame | null; host: FlameFrame | null };
  runs?: { a: RunInfo[]; b: RunInfo[] }; options?: { stage: Text; step: Num; time: string; metric: string };
}
