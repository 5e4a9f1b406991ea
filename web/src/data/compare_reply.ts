// SPDX-License-Identifier: Apache-2.0
// What `neurolens compare` writes for a page, beside its reply (docs/compare.md). Times are milliseconds.
import type { CompareFlame, CompareReply, CompareTimeline } from "./generated";

// What the reply and the files have in common.
export type CompareFacts = Omit<CompareReply, "files" | "timeline" | "flame" | Time> & { [key in Time]: number | null };
// Written as null when they are not finite.
type Time = "wall_a_ms" | "wall_b_ms" | "delta_ms" | "residual_ms" | "busy_a_ms" | "busy_b_ms";

// What `compare --html` and `compare --json FILE` write, and the reply with --details.
export interface CompareDocument extends CompareFacts {
  timeline: CompareTimeline;
  flame: CompareFlame;
}
