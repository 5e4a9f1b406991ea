// SPDX-License-Identifier: Apache-2.0
// The call tree of a run as a flame graph; width is device or host time.
import { useMemo, useState } from "preact/hooks";
import { hueOf } from "./canvas";
import type { FlameTree } from "./flame_canvas";
import { FlameCanvas } from "./flame_canvas";
import { ms, pct } from "./format";
import type { FlameNode } from "./model";
import { color } from "./theme";

type Metric = "device" | "host";
interface Tree extends FlameTree { total: Record<Metric, Float64Array> }

export function buildTree(nodes: FlameNode[]): Tree {
  const children: number[][] = nodes.map(() => []);
  const roots: number[] = [];
  const up = nodes.map((node, i) => {
    const parent = node.parent;
    const known = typeof parent === "number" && parent >= 0 && parent < nodes.length && parent !== i;
    if (known) children[parent].push(i);
    else roots.push(i);
    return known ? parent : null;
  });
  // Callers first; backwards, every callee is done before its caller.
  const order: number[] = [];
  const stack = [...roots];
  while (stack.length > 0) {
    const at = stack.pop()!;
    order.push(at);
    stack.push(...children[at]);
  }
  const total = { device: new Float64Array(nodes.length), host: new Float64Array(nodes.length) };
  for (const at of order.reverse()) {
    total.device[at] += nodes[at].device_self_ms || 0;
    total.host[at] += nodes[at].host_self_ms || 0;
    for (const child of children[at]) {
      total.device[at] += total.device[child];
      total.host[at] += total.host[child];
    }
  }
  return { names: nodes.map((n) => n.name), parent: up, children, roots, total };
}

export function FlameSection({ nodes }: { nodes: FlameNode[] }) {
  const tree = useMemo(() => buildTree(nodes), [nodes]);
  const sums = useMemo(() => ({
    device: tree.roots.reduce((s, i) => s + tree.total.device[i], 0), host: tree.roots.reduce((s, i) => s + tree.total.host[i], 0),
  }), [tree]);
  const [metric, setMetric] = useState<Metric>(sums.device > 0 ? "device" : "host");
  const fill = () => {
    const fills = Array.from({ length: 10 }, (_, i) => color(`--hue-${i}`));
    return (node: number) => fills[hueOf(tree.names[node])];
  };
  const tip = (node: number) => (
    <>
      <span>{nodes[node].kind}</span>
      <span>GPU {ms(tree.total.device[node])} (self {ms(nodes[node].device_self_ms)})</span>
      <span>Host {ms(tree.total.host[node])} (self {ms(nodes[node].host_self_ms)})</span>
      {sums[metric] > 0 && <span>{pct(tree.total[metric][node] / sums[metric])} of {metric === "device" ? "GPU" : "host"} time</span>}
    </>
  );
  return (
    <FlameCanvas id="flame-view" tree={tree} weight={tree.total[metric]} fill={fill} tip={tip}>
      {(["device", "host"] as const).map((m) => (
        <button key={m} type="button" aria-pressed={metric === m} disabled={sums[m] <= 0} onClick={() => setMetric(m)}>
          {m === "device" ? "GPU time" : "Host time"}
        </button>
      ))}
    </FlameCanvas>
  );
}
