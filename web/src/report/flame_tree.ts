// SPDX-License-Identifier: Apache-2.0
// The call tree of a run with the total of each frame: its own time and that of its callees.
import type { ReportFlameNode } from "../data/replies";
import type { FlameTree } from "../widgets/flame_layout";

export type Metric = "device" | "host";

export interface RunTree extends FlameTree {
  total: Record<Metric, Float64Array>;
}

// Callers before their callees.
function callersFirst(children: number[][], roots: number[]): number[] {
  const order = [...roots];
  for (let i = 0; i < order.length; ++i) order.push(...children[order[i]]);
  return order;
}

export function buildTree(nodes: ReportFlameNode[]): RunTree {
  const children: number[][] = nodes.map(() => []);
  const roots: number[] = [];
  const parent = nodes.map((node, i) => {
    // Parents come first; anything else would be a circle.
    if (node.parent === null || node.parent < 0 || node.parent >= i) {
      roots.push(i);
      return null;
    }
    children[node.parent].push(i);
    return node.parent;
  });
  const total = {
    device: Float64Array.from(nodes, (n) => n.device_self_ms),
    host: Float64Array.from(nodes, (n) => n.host_self_ms),
  };
  for (const at of callersFirst(children, roots).reverse()) {
    for (const child of children[at]) {
      total.device[at] += total.device[child];
      total.host[at] += total.host[child];
    }
  }
  return { names: nodes.map((n) => n.name), parent, children, roots, total };
}

export const rootTotal = (tree: RunTree, metric: Metric): number =>
  tree.roots.reduce((sum, i) => sum + tree.total[metric][i], 0);
