// SPDX-License-Identifier: Apache-2.0
// A flame graph. A click enters a frame.
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { drawLabel, prepareCanvas, useWidth } from "./canvas";
import type { FlameBox, FlameTree } from "./flame_layout";
import { flameHeight, layoutFlame, nodeAt, ROW_PX } from "./flame_layout";
import { cut } from "./format";
import { color, useTheme } from "./theme";
import { Tip } from "./tip";

interface Props {
  id: string;
  tree: FlameTree;
  weight: ArrayLike<number>;
  fill: () => (node: number) => string; // called once per drawing: colours change with the theme
  tip: (node: number) => ComponentChildren;
  children?: ComponentChildren; // buttons of the page's own
}

function drawFlame(
  context: CanvasRenderingContext2D,
  boxes: FlameBox[],
  names: string[],
  shade: (node: number) => string,
  words: string,
): void {
  const ink = color("--on-span");
  const faded = color("--sunken");
  const quiet = color("--muted");
  const wanted = words.trim().toLowerCase();
  context.font = "11px system-ui, sans-serif";
  for (const b of boxes) {
    const name = names[b.node];
    const matches = !wanted || name.toLowerCase().includes(wanted);
    context.fillStyle = matches ? shade(b.node) : faded;
    context.fillRect(b.x, b.depth * ROW_PX, Math.max(0.4, b.width - (b.width > 2 ? 1 : 0)), ROW_PX - 1);
    context.fillStyle = matches ? ink : quiet;
    drawLabel(context, name, b.x, b.depth * ROW_PX + ROW_PX / 2, b.width);
  }
}

export function FlameCanvas({ id, tree, weight, children, fill, tip }: Props) {
  const [top, setTop] = useState<number | null>(null);
  const [words, setWords] = useState("");
  const [hover, setHover] = useState<{ x: number; y: number; node: number } | null>(null);
  const [box, width] = useWidth();
  const canvas = useRef<HTMLCanvasElement>(null);
  const theme = useTheme();
  const boxes = useMemo(() => (width > 0 ? layoutFlame(tree, weight, top, width) : []), [tree, weight, top, width]);
  const height = flameHeight(boxes);

  // biome-ignore lint/correctness/useExhaustiveDependencies: another tree has other frames
  useEffect(() => {
    setTop(null);
    setHover(null);
  }, [tree]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the theme decides what fill() and color() return
  useEffect(() => {
    const context = canvas.current && width > 0 ? prepareCanvas(canvas.current, width, height) : null;
    if (context) drawFlame(context, boxes, tree.names, fill(), words);
  }, [boxes, tree, words, width, height, theme, fill]);

  const onMove = ({ offsetX: x, offsetY: y }: MouseEvent) => {
    const node = nodeAt(boxes, x, y);
    setHover(node === null ? null : { x, y, node });
  };
  const onClick = (event: MouseEvent) => {
    const node = nodeAt(boxes, event.offsetX, event.offsetY);
    if (node !== null) setTop(node);
  };
  return (
    <div class="flame" id={id} data-top={top ?? ""}>
      <div class="bar">
        {children}
        <button type="button" disabled={top === null} onClick={() => setTop(top === null ? null : tree.parent[top])}>
          Up
        </button>
        <button type="button" disabled={top === null} onClick={() => setTop(null)}>
          Whole tree
        </button>
        <input
          type="search"
          placeholder="Find a frame"
          aria-label="Find a frame"
          value={words}
          onInput={(e) => setWords(e.currentTarget.value)}
        />
      </div>
      <div class="lanes" ref={box}>
        <canvas
          ref={canvas}
          role="img"
          aria-label="Flame graph"
          onMouseLeave={() => setHover(null)}
          onMouseMove={onMove}
          onClick={onClick}
        />
        {hover && (
          <Tip x={hover.x} y={hover.y} room={width} title={cut(tree.names[hover.node], 300)}>
            {tip(hover.node)}
          </Tip>
        )}
      </div>
    </div>
  );
}
