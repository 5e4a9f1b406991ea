// SPDX-License-Identifier: Apache-2.0
// Report sections that assess a run: findings, stages, roofline, ranks (src/analyze/passes).
import type { StageInstance } from "./generated";

// A row of a table that supports a claim.
// A suggestion of the profiling tool itself.
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
