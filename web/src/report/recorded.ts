// SPDX-License-Identifier: Apache-2.0
import type { ReportPart } from "../data/replies";

// The share of the wall time that was recorded, and the share of that in which the devices were busy.
export function recordedShares(parts: ReportPart[]): { recorded: number; busy: number } {
  let recorded = 1;
  let busy = 0;
  for (const p of parts) {
    if (p.what === "paused") recorded -= p.share;
    else if (!p.idle) busy += p.share;
  }
  return { recorded, busy: recorded > 0 ? busy / recorded : 0 };
}
