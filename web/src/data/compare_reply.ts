// SPDX-License-Identifier: Apache-2.0
// What `neurolens compare` writes for a page, beside its reply (docs/compare.md). Times are milliseconds.
import type { CompareReply } from "./generated";

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
export type CompareFacts = Omit<CompareReply, "files" | Time> & { [key in Time]: number | null };
// Written as null when they are not finite.
type Time = "wall_a_ms" | "wall_b_ms" | "delta_ms" | "residual_ms" | "busy_a_ms" | "busy_b_ms";

// What `compare --html` and `compare --json FILE` write.
export interface CompareDocument extends CompareFacts {
  timeline: CompareTimeline;
  flame: CompareFlame;
}
