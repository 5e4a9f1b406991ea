// SPDX-License-Identifier: Apache-2.0
// Where each frame of a flame graph lies: callers above callees, as wide as their weight, the heaviest to the left.

export const ROW_PX = 18;
const MIN_BOX_PX = 0.4;
const MAX_ROWS = 900;

// A forest in lists; `parent` and `children` are indices.
export interface FlameTree {
  names: string[];
  parent: (number | null)[];
  children: number[][];
  roots: number[];
}

export interface FlameBox {
  node: number;
  x: number;
  width: number;
  depth: number;
}

// `top` is the frame that fills the width; null shows every root.
export function layoutFlame(tree: FlameTree, weight: ArrayLike<number>, top: number | null, width: number): FlameBox[] {
  const starts = top === null ? tree.roots : [top];
  const whole = starts.reduce((sum, i) => sum + weight[i], 0);
  if (whole <= 0) return [];
  const scale = width / whole;
  const boxes: FlameBox[] = [];
  const stack: { nodes: number[]; x: number; depth: number }[] = [{ nodes: starts, x: 0, depth: 0 }];
  for (let at = stack.pop(); at; at = stack.pop()) {
    let left = at.x;
    for (const node of [...at.nodes].sort((a, b) => weight[b] - weight[a])) {
      const size = weight[node] * scale;
      if (size < MIN_BOX_PX) break;
      boxes.push({ node, x: left, width: size, depth: at.depth });
      if (tree.children[node].length > 0) stack.push({ nodes: tree.children[node], x: left, depth: at.depth + 1 });
      left += size;
    }
  }
  return boxes;
}

export function flameHeight(boxes: FlameBox[]): number {
  const rows = boxes.reduce((deepest, b) => Math.max(deepest, b.depth + 1), 1);
  return Math.min(MAX_ROWS, rows) * ROW_PX;
}

export function nodeAt(boxes: FlameBox[], x: number, y: number): number | null {
  const depth = Math.floor(y / ROW_PX);
  return boxes.find((b) => b.depth === depth && x >= b.x && x < b.x + b.width)?.node ?? null;
}
