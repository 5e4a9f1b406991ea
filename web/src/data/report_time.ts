// SPDX-License-Identifier: Apache-2.0
// Report sections about where time went, one per analysis pass (src/analyze/passes).

export interface IdleParts {
  host_ms: number;
  launch_ms: number;
  sync_ms: number;
  other_ms: number;
  paused_ms: number;
}

export interface PathShare {
  class: string;
  bound: string;
  ms: number;
  share: number | null;
}

// `raw_name` is null for anything but a kernel.
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
