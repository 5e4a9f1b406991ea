// SPDX-License-Identifier: Apache-2.0
// Report sections about where time went, one per analysis pass (src/analyze/passes).

export interface TimeShare {
  what: string;
  ms: number;
  share: number | null;
}

export interface TimeParts {
  wall_ms: number;
  busy_ms: number;
  idle_ms: number;
  paused_ms: number;
  compute_ms: number;
  communication_ms: number;
  memory_ms: number;
  overlap_ms: number;
  compute_communication_ms: number;
  compute_memory_ms: number;
  communication_memory_ms: number;
  utilization: number | null;
  parts: TimeShare[];
}

export interface DeviceTime extends TimeParts {
  index: number | null;
  rank: number | null;
  name: string | null;
  events: number;
  hidden_communication_share: number | null;
  hidden_memory_share: number | null;
}

export interface ThreadTime {
  name: string | null;
  tid: number | null;
  recorded_ms: number;
  op_total_ms: number;
  op_self_ms: number;
  python_self_ms: number;
  range_self_ms: number;
  launches: number;
  api: Record<string, { ms: number; calls: number }>;
}

export interface AccountingSection {
  wall_ms: number;
  devices: DeviceTime[];
  steps: { name: string; number: number | null; wall_ms: number; devices: TimeParts[] }[];
  threads: ThreadTime[];
}

export interface IdleParts {
  host_ms: number;
  launch_ms: number;
  sync_ms: number;
  other_ms: number;
  paused_ms: number;
}

export interface IdleDevice extends IdleParts {
  index: number | null;
  rank: number | null;
  idle_ms: number;
}

export interface IdleReason {
  what: string;
  name: string | null;
  ms: number;
  share: number | null;
  gaps: number;
}

export interface IdleGap extends IdleParts {
  device: number | null;
  start_ms: number;
  dur_ms: number;
  cause: string;
  name: string | null;
  next: string | null;
  next_raw_name: string | null;
}

export interface IdleSection extends IdleParts {
  idle_ms: number;
  blocked_ms: number;
  gap_count: number;
  floor_us: number;
  devices: IdleDevice[];
  causes: IdleReason[];
  largest: IdleGap[];
}

export interface LaunchQueue {
  device: number | null;
  stream: number | null;
  queue_max: number;
  queue_mean: number;
  at_ms: number[];
  length: number[];
}

export interface LaunchSection {
  launches: number;
  graph_launches: number;
  work_items: number;
  without_launch: number;
  api_ms: number;
  api_p50_us: number | null;
  api_p95_us: number | null;
  queue_delay_p50_us: number | null;
  queue_delay_p95_us: number | null;
  negative_delays: number;
  transition_ms: number;
  launch_bound: number;
  launch_bound_share: number | null;
  launch_bound_work_ms: number;
  streams: LaunchQueue[];
  queue_max: number;
  calls: { name: string; calls: number; ms: number }[];
}

export interface CallTotals {
  name: string;
  calls: number;
  kernels: number;
  host_total_ms: number;
  host_self_ms: number;
  gpu_total_ms: number;
  gpu_self_ms: number;
}

export interface WorkAmount {
  kernels: number;
  gpu_ms: number;
}

export interface AttributionSection {
  ops: CallTotals[];
  modules: CallTotals[];
  ranges: CallTotals[];
  outside_ops: WorkAmount;
  outside_modules: WorkAmount;
  outside_ranges: WorkAmount;
  unlinked: WorkAmount;
  graph: WorkAmount;
  all: WorkAmount;
}

export interface PathShare {
  class: string;
  bound: string;
  ms: number;
  share: number | null;
}

// `raw_name` is null for anything but a kernel.
export interface PathContributor {
  class: string;
  name: string | null;
  raw_name: string | null;
  ms: number;
  share: number | null;
  segments: number;
}

export interface PathSegment {
  class: string;
  name: string | null;
  raw_name: string | null;
  start_ms: number;
  ms: number;
}

export interface PathKernel {
  name: string | null;
  raw_name: string | null;
  calls: number;
  total_ms: number;
  on_path_ms: number;
  on_path_share: number | null;
  min_slack_ms: number;
  median_slack_ms: number;
}

// The composition of the path over time: per class, its share of each bin.
export interface PathStrip {
  bin_ms: number;
  classes: { class: string; share: number[] }[];
}

export interface CriticalPathSection {
  wall_ms: number;
  reason: string | null;
  bound_by: { bound: string; ms: number; share: number | null }[];
  shares: PathShare[];
  sums: { wall_ns: number; path_ns: number };
  contributors: PathContributor[];
  contributors_total: number;
  segments: PathSegment[];
  segments_total: number;
  slack: { histogram: { below_ms: number | null; work_items: number }[]; kernels: PathKernel[] };
  launch_latency_floor_ms: number;
  inferred_waits: number;
  impossible_edges: number;
  strip?: PathStrip;
}
