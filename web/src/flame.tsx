// SPDX-License-Identifier: Apache-2.0
// The call tree as a flame graph, callers above callees; width is device or host time. A click goes into a frame.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { hueOf, label, sharp, useTheme, useWidth } from "./canvas";
import { ms, pct } from "./format";
import type { FlameNode } from "./model";
import { color } from "./theme";

const ROW = 18;
type Metric = "device" | "host";
interface Tree { nodes: FlameNode[]; children: number[][]; roots: number[]; total: Record<Metric, Float64Array> }
interface Box { node: number; x: number; width: number; depth: number }

export function buildTree(nodes: FlameNode[]): Tree {
  const children: number[][] = nodes.map(() => []);
  const roots: number[] = [];
  nodes.forEach((node, i) => {
    const parent = node.parent;
    if (typeof parent === "number" && parent >= 0 && parent < nodes.length && parent !== i) children[parent].push(i);
    else roots.push(i);
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
  return { nodes, children, roots, total };
}

function layout(tree: Tree, metric: Metric, top: number | null, width: number): Box[] {
  const total = tree.total[metric];
  const starts = top === null ? tree.roots : [top];
  const whole = starts.reduce((sum, i) => sum + total[i], 0);
  if (whole <= 0) return [];
  const scale = width / whole;
  const boxes: Box[] = [];
  const stack: { list: number[]; x: number; depth: number }[] = [{ list: starts, x: 0, depth: 0 }];
  while (stack.length > 0) {
    const { list, x, depth } = stack.pop()!;
    let left = x;
    for (const node of [...list].sort((a, b) => total[b] - total[a])) {
      const size = total[node] * scale;
      if (size < 0.4) break;
      boxes.push({ node, x: left, width: size, depth });
      if (tree.children[node].length > 0) stack.push({ list: tree.children[node], x: left, depth: depth + 1 });
      left += size;
    }
  }
  return boxes;
}

export function FlameSection({ nodes }: { nodes: FlameNode[] }) {
  const tree = useMemo(() => buildTree(nodes), [nodes]);
  const sums = useMemo(() => ({
    device: tree.roots.reduce((s, i) => s + tree.total.device[i], 0), host: tree.roots.reduce((s, i) => s + tree.total.host[i], 0),
  }), [tree]);
  const [metric, setMetric] = useState<Metric>(sums.device > 0 ? "device" : "host");
  const [top, setTop] = useState<number | null>(null);
  const [words, setWords] = useState("");
  const [hover, setHover] = useState<{ x: number; y: number; node: number } | null>(null);
  const [box, width] = useWidth();
  const canvas = useRef<HTMLCanvasElement>(null);
  const theme = useTheme();
  const boxes = useMemo(() => (width > 0 ? layout(tree, metric, top, width) : []), [tree, metric, top, width]);
  const height = Math.max(ROW, Math.min(900, boxes.reduce((deep, b) => Math.max(deep, b.depth + 1), 1)) * ROW);

  useEffect(() => {
    if (!canvas.current || width === 0) return;
    const context = sharp(canvas.current, width, height);
    context.font = "11px system-ui, sans-serif";
    const fills = Array.from({ length: 10 }, (_, i) => color(`--hue-${i}`));
    const ink = color("--on-span");
    const faded = color("--sunken");
    const wanted = words.trim().toLowerCase();
    for (const b of boxes) {
      const name = tree.nodes[b.node].name;
      const match = !wanted || name.toLowerCase().includes(wanted);
      context.fillStyle = match ? fills[hueOf(name)] : faded;
      context.fillRect(b.x, b.depth * ROW, Math.max(0.4, b.width - (b.width > 2 ? 1 : 0)), ROW - 1);
      context.fillStyle = match ? ink : color("--muted");
      label(context, name, b.x, b.depth * ROW + ROW / 2, b.width, 6.2);
    }
  }, [boxes, words, theme, height]);

  const find = (x: number, y: number) => {
    const depth = Math.floor(y / ROW);
    return boxes.find((b) => b.depth === depth && x >= b.x && x <= b.x + b.width)?.node ?? null;
  };
  const whole = sums[metric];
  return (
    <div class="flame" id="flame-view" data-top={top ?? ""}>
      <div class="bar">
        {(["device", "host"] as const).map((m) => (
          <button key={m} type="button" aria-pressed={metric === m} disabled={sums[m] <= 0} onClick={() => setMetric(m)}>
            {m === "device" ? "GPU time" : "Host time"}
          </button>
        ))}
        <button type="button" disabled={top === null} onClick={() => setTop(top === null ? null : (tree.nodes[top].parent ?? -1) >= 0 ? tree.nodes[top].parent : null)}>Up</button>
        <button type="button" disabled={top === null} onClick={() => setTop(null)}>Whole tree</button>
        <input type="search" placeholder="Find a frame" aria-label="Find a frame" value={words} onInput={(e) => setWords(e.currentTarget.value)} />
      </div>
      <div class="lanes" ref={box}>
        <canvas ref={canvas} role="img" aria-label="Flame graph" onMouseLeave={() => setHover(null)}
          onMouseMove={(e) => { const node = find(e.offsetX, e.offsetY); setHover(node === null ? null : { x: e.offsetX, y: e.offsetY, node }); }}
          onClick={(e) => { const node = find(e.offsetX, e.offsetY); if (node !== null) setTop(node); }} />
        {hover && (
          <div class="tip" style={{ left: `${Math.min(hover.x + 14, Math.max(0, width - 300))}px`, top: `${hover.y + 16}px` }}>
            <b>{tree.nodes[hover.node].name.slice(0, 300)}</b>
            <span>{tree.nodes[hover.node].kind}</span>
            <span>GPU {ms(tree.total.device[hover.node])} (self {ms(tree.nodes[hover.node].device_self_ms)})</span>
            <span>Host {ms(tree.total.host[hover.node])} (self {ms(tree.nodes[hover.node].host_self_ms)})</span>
            {whole > 0 && <span>{pct(tree.total[metric][hover.node] / whole)} of {metric === "device" ? "GPU" : "host"} time</span>}
          </div>
        )}
      </div>
    </div>
  );
}
