// SPDX-License-Identifier: Apache-2.0
// A tree of frames, callers above callees, as wide as their weight. A click goes into a frame.
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { label, sharp, useTheme, useWidth } from "./canvas";
import { color } from "./theme";

const ROW = 18;
export interface FlameTree { names: string[]; parent: (number | null)[]; children: number[][]; roots: number[] }
interface Box { node: number; x: number; width: number; depth: number }

function layout(tree: FlameTree, weight: ArrayLike<number>, top: number | null, width: number): Box[] {
  const starts = top === null ? tree.roots : [top];
  const whole = starts.reduce((sum, i) => sum + weight[i], 0);
  if (whole <= 0) return [];
  const scale = width / whole;
  const boxes: Box[] = [];
  const stack: { list: number[]; x: number; depth: number }[] = [{ list: starts, x: 0, depth: 0 }];
  while (stack.length > 0) {
    const { list, x, depth } = stack.pop()!;
    let left = x;
    for (const node of [...list].sort((a, b) => weight[b] - weight[a])) {
      const size = weight[node] * scale;
      if (size < 0.4) break;
      boxes.push({ node, x: left, width: size, depth });
      if (tree.children[node].length > 0) stack.push({ list: tree.children[node], x: left, depth: depth + 1 });
      left += size;
    }
  }
  return boxes;
}

interface Props {
  id: string; tree: FlameTree; weight: ArrayLike<number>; children?: ComponentChildren; // buttons of the page's own
  fill: () => (node: number) => string; // asked for once a drawing: colours change with the theme
  tip: (node: number) => ComponentChildren;
}

export function FlameCanvas({ id, tree, weight, children, fill, tip }: Props) {
  const [top, setTop] = useState<number | null>(null);
  const [words, setWords] = useState("");
  const [hover, setHover] = useState<{ x: number; y: number; node: number } | null>(null);
  const [box, width] = useWidth();
  const canvas = useRef<HTMLCanvasElement>(null);
  const theme = useTheme();
  const boxes = useMemo(() => (width > 0 ? layout(tree, weight, top, width) : []), [tree, weight, top, width]);
  const height = Math.max(ROW, Math.min(900, boxes.reduce((deep, b) => Math.max(deep, b.depth + 1), 1)) * ROW);

  useEffect(() => {
    setTop(null);
    setHover(null);
  }, [tree]);

  useEffect(() => {
    if (!canvas.current || width === 0) return;
    const context = sharp(canvas.current, width, height);
    context.font = "11px system-ui, sans-serif";
    const shade = fill();
    const ink = color("--on-span");
    const faded = color("--sunken");
    const quiet = color("--muted");
    const wanted = words.trim().toLowerCase();
    for (const b of boxes) {
      const name = tree.names[b.node];
      const match = !wanted || name.toLowerCase().includes(wanted);
      context.fillStyle = match ? shade(b.node) : faded;
      context.fillRect(b.x, b.depth * ROW, Math.max(0.4, b.width - (b.width > 2 ? 1 : 0)), ROW - 1);
      context.fillStyle = match ? ink : quiet;
      label(context, name, b.x, b.depth * ROW + ROW / 2, b.width, 6.2);
    }
  }, [boxes, words, theme, height]);

  const find = (x: number, y: number) => {
    const depth = Math.floor(y / ROW);
    return boxes.find((b) => b.depth === depth && x >= b.x && x <= b.x + b.width)?.node ?? null;
  };
  return (
    <div class="flame" id={id} data-top={top ?? ""}>
      <div class="bar">
        {children}
        <button type="button" disabled={top === null} onClick={() => setTop(top === null ? null : tree.parent[top])}>Up</button>
        <button type="button" disabled={top === null} onClick={() => setTop(null)}>Whole tree</button>
        <input type="search" placeholder="Find a frame" aria-label="Find a frame" value={words} onInput={(e) => setWords(e.currentTarget.value)} />
      </div>
      <div class="lanes" ref={box}>
        <canvas ref={canvas} role="img" aria-label="Flame graph" onMouseLeave={() => setHover(null)}
          onMouseMove={(e) => { const node = find(e.offsetX, e.offsetY); setHover(node === null ? null : { x: e.offsetX, y: e.offsetY, node }); }}
          onClick={(e) => { const node = find(e.offsetX, e.offsetY); if (node !== null) setTop(node); }} />
        {hover && (
          <div class="tip" style={{ left: `${Math.min(hover.x + 14, Math.max(0, width - 300))}px`, top: `${hover.y + 16}px` }}>
            <b>{tree.names[hover.node].slice(0, 300)}</b>
            {tip(hover.node)}
          </div>
        )}
      </div>
    </div>
  );
}
