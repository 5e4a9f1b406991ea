// SPDX-License-Identifier: Apache-2.0
// The flame graphs of two runs laid over each other: width is the time of A, of B or of both, colour what changed.
import { useMemo, useState } from "preact/hooks";
import type { Comparison, FlameFrame } from "./compare_model";
import { deltaColors, signedMs } from "./delta";
import type { FlameTree } from "./flame_canvas";
import { FlameCanvas } from "./flame_canvas";
import { ms, pct } from "./format";

type Side = "both" | "a" | "b";
interface Tree extends FlameTree { a: Float64Array; b: Float64Array; both: Float64Array }

function flatten(root: FlameFrame): Tree {
  const names: string[] = [], parent: (number | null)[] = [], children: number[][] = [], a: number[] = [], b: number[] = [];
  const stack: { frame: FlameFrame; up: number | null }[] = [{ frame: root, up: null }];
  while (stack.length > 0) {
    const { frame, up } = stack.pop()!;
    const at = names.length;
    names.push(frame.name);
    parent.push(up);
    children.push([]);
    a.push(frame.a_ms || 0);
    b.push(frame.b_ms || 0);
    if (up !== null) children[up].push(at);
    for (const child of frame.children) stack.push({ frame: child, up: at });
  }
  return { names, parent, children, roots: [0], a: Float64Array.from(a), b: Float64Array.from(b), both: Float64Array.from(a, (v, i) => (v + b[i]) / 2) };
}

export function FlameDiff({ flame }: { flame: NonNullable<Comparison["flame"]> }) {
  const trees = useMemo(() => ({ device: flame.device && flatten(flame.device), host: flame.host && flatten(flame.host) }), [flame]);
  const [metric, setMetric] = useState<"device" | "host">(trees.device ? "device" : "host");
  const [side, setSide] = useState<Side>("both");
  const tree = trees[metric] ?? trees.host ?? trees.device;
  if (!tree) return null;
  const change = (node: number) => tree.b[node] - tree.a[node];
  // The strongest colour is for what changed as much as anything below the root did.
  const most = Math.max(1e-12, ...tree.names.map((_, i) => (i === 0 ? 0 : Math.abs(change(i)))));
  const fill = () => {
    const shade = deltaColors();
    return (node: number) => shade(Math.sign(change(node)) * Math.sqrt(Math.abs(change(node)) / most));
  };
  const tip = (node: number) => (
    <>
      <span>A {ms(tree.a[node])}, B {ms(tree.b[node])}</span>
      <span><b>{signedMs(change(node))}</b>{tree.a[node] > 0 && ` (${change(node) > 0 ? "+" : ""}${pct(change(node) / tree.a[node])})`}</span>
      {tree.a[node] === 0 && <span>only in B</span>}
      {tree.b[node] === 0 && <span>only in A</span>}
    </>
  );
  return (
    <div>
      <FlameCanvas id="flame-view" tree={tree} weight={tree[side]} fill={fill} tip={tip}>
        {(["device", "host"] as const).map((m) => (
          <button key={m} type="button" aria-pressed={metric === m} disabled={!trees[m]} onClick={() => setMetric(m)}>{m === "device" ? "GPU time" : "Host time"}</button>
        ))}
        <span class="sep" />
        {(["both", "a", "b"] as const).map((s) => (
          <button key={s} type="button" aria-pressed={side === s} onClick={() => setSide(s)}>{s === "both" ? "Both" : s.toUpperCase()}</button>
        ))}
      </FlameCanvas>
      <DeltaLegend />
      <p class="note">Width is {side === "both" ? "the mean of both runs" : `run ${side.toUpperCase()}`}; of the whole runs. Frames below 0.1 % are left out, their time stays in the frames above.</p>
    </div>
  );
}

export function DeltaLegend() {
  return (
    <p class="scale" aria-label="Colours">
      <span>faster in B</span>
      <i style={{ background: "linear-gradient(90deg, var(--faster), var(--same), var(--slower))" }} />
      <span>slower in B</span>
    </p>
  );
}
