// SPDX-License-Identifier: Apache-2.0
// The call tree of the operation `flame` as the flame graph of a report takes it.
import type { FlameRow, ReportFlameNode } from "../../data/generated";

// Rows are in the order of a walk. Light frames are left out of them, so what a frame has beyond its listed callees
// counts as its own: widths are then those of the whole tree. Profiles without times have weights in their place.
export function flameNodes(rows: FlameRow[]): ReportFlameNode[] {
  const path: number[] = [];
  const nodes = rows.map((row, at): ReportFlameNode => {
    path.length = Math.min(path.length, row.depth);
    const parent = path.at(-1) ?? null;
    path.push(at);
    return {
      name: row.name,
      kind: row.device_frame ? "device" : "host",
      parent,
      host_self_ms: row.host_total_ms ?? row.weight ?? 0,
      device_self_ms: row.gpu_total_ms,
    };
  });
  const totals = nodes.map((n) => [n.host_self_ms, n.device_self_ms]);
  nodes.forEach((node, at) => {
    if (node.parent === null) return;
    const parent = nodes[node.parent];
    parent.host_self_ms = Math.max(0, parent.host_self_ms - totals[at][0]);
    parent.device_self_ms = Math.max(0, parent.device_self_ms - totals[at][1]);
  });
  return nodes;
}
