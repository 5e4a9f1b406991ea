// SPDX-License-Identifier: Apache-2.0
// The report model as neurolens writes it (docs/report.md). Sections that a run does not have are absent.

export interface Part { what: string; label: string; ms: number; share: number; idle: boolean }
export interface Device {
  index: number | null; rank?: number | null; name: string | null; busy_ms: number; idle_ms: number; compute_ms: number;
  communication_ms: number; memory_ms: number; overlap_ms: number; utilization: number | null;
}
export interface NameRow {
  name: string; raw_name: string; family: string | null; device: number | null; calls: number; total_ms: number;
  self_ms: number; gpu_ms: number; mean_ms: number; p50_ms: number; p95_ms: number; share: number | null;
}
export interface CopyRow { kind: string; from: string; to: string; calls: number; total_ms: number; bytes: number }
export interface Evidence { table?: string | null; row?: number | string | null; what?: string; value?: unknown; unit?: string | null }
export interface Finding {
  rule: string; title?: string | null; severity: string; counted_in?: string[]; score?: number; confidence?: number | null; impact_ms?: number | null; stage?: string | null;
  module?: string | null; op?: string | null; kernel?: string | null; message: string; suggestions?: string[]; evidence?: Evidence[];
  refs?: string[];
}
export interface Diagnosis { class: string; confidence?: number | null; evidence?: (string | Evidence)[]; settle?: string[]; nearest?: string | null }
// What the profiling tool itself says: its word, not a rule of ours.
export interface ToolFinding {
  tool: string; rule: string; kernel: string; executions: number; kernel_ms: number; speedup_pct: number | null; scope: string | null;
  estimated_ms: number | null; message: string;
}
export interface FindingsSection {
  tool_findings?: ToolFinding[];
  diagnosis?: Diagnosis | null; findings?: Finding[]; not_assessed?: { rule: string; needs?: string | string[]; advice?: string | null }[];
}
export interface Stage {
  name: string; inferred?: boolean; count: number; total_ms: number; p50_ms?: number | null; p95_ms?: number | null; p99_ms?: number | null;
  tokens?: number | null; tokens_per_s?: number | null; kernels?: number | null; launch_share?: number | null; idle_share?: number | null;
  mfu?: number | null; mbu?: number | null; mfu_reason?: string | null; mbu_reason?: string | null; flops?: number | null; bytes?: number | null;
  peak?: { tflops?: number | null; gbps?: number | null; source?: string | null } | null;
}
export interface RooflinePoint {
  op?: string | null; kernel?: string | null; flops: number | null; bytes: number | null; ai: number | null; tflops: number | null;
  gbps: number | null; t_roof_ms: number | null; t_measured_ms: number | null; efficiency: number | null; bound?: string | null;
  source?: string | null; calls?: number | null; dtype?: string | null; shapes?: string | null;
}
export interface CriticalPath {
  wall_ms?: number; shares?: { class: string; ms: number; share: number }[];
  reason?: string | null; strip?: { bin_ms: number; classes: { class: string; share: number[] }[] }; segments?: { class: string; name: string | null; start_ms: number; ms: number }[]; segments_total?: number;
  contributors?: { class: string; name: string | null; ms: number; share: number }[];
}
export interface IdleSection {
  host_ms?: number; launch_ms?: number; sync_ms?: number; other_ms?: number; gap_count?: number; floor_us?: number | null;
  causes?: { what: string; name: string | null; ms: number; share?: number | null }[];
}
export interface LaunchSection {
  launches?: number; api_p50_us?: number | null; api_p95_us?: number | null; queue_delay_p50_us?: number | null;
  launch_bound_share?: number | null; queue_max?: number | null; transition_ms?: number | null;
}
export interface FlameNode { name: string; kind: string; parent: number | null; host_self_ms: number; device_self_ms: number }
export interface Lane {
  name: string; kind: "device" | "host"; depth_max: number; start_us: number[]; dur_us: number[]; name_id: number[]; category: number[];
  depth: number[]; count?: number[];
}
export interface Timeline {
  wall_us: number; events_total: number; events_drawn: number; merged_below_us: number | null; categories: string[]; names: string[];
  lanes: Lane[];
}
export interface Memory {
  events: number; peaks: { device: number; allocated_bytes: number; reserved_bytes: number }[];
  series: { device: number; at_ms: number[]; allocated_bytes: number[] }[];
}
export interface CounterReason { name: string; severity: string; count: number; advice: string | null }

export interface Report {
  schema_version: number; generated_from: string;
  run: {
    environment: { hardware?: any; software?: any; model?: any; ranks?: any }; provenance: any;
    counters: { lost: number; reasons: CounterReason[] }; overhead_pct: number | null;
  };
  wall_ms: number; verdict: string; diagnosis?: Diagnosis; breakdown: Part[]; devices: Device[];
  operators: NameRow[]; operators_total: number; kernels: NameRow[]; kernels_total: number; copies: CopyRow[];
  timeline: Timeline; glossary: { name: string; unit: string; meaning: string }[];
  findings?: FindingsSection; stages?: { stages?: Stage[]; ttft_ms?: number | null; tpot_ms?: number | null };
  idle?: IdleSection; launch?: LaunchSection; critical_path?: CriticalPath;
  roofline?: { points?: RooflinePoint[]; peaks?: any; peaks_reason?: string | null }; flame?: { nodes?: FlameNode[] }; memory?: Memory;
}
