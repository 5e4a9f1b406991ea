// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest";
import type { FlameTree } from "./flame_layout";
import { flameHeight, layoutFlame, nodeAt, ROW_PX } from "./flame_layout";

// 0 calls 1 and 2, 2 calls 3; 4 is a second root.
const TREE: FlameTree = {
  names: ["main", "small", "large", "leaf", "other"],
  parent: [null, 0, 0, 2, null],
  children: [[1, 2], [], [3], [], []],
  roots: [0, 4],
};
const WEIGHT = [8, 2, 6, 3, 2];
const box = (list: ReturnType<typeof layoutFlame>, node: number) => list.find((b) => b.node === node);

describe("layoutFlame", () => {
  test("the roots fill the width, the heaviest callee is to the left of its sibling", () => {
    const boxes = layoutFlame(TREE, WEIGHT, null, 100);
    expect(box(boxes, 0)).toEqual({ node: 0, x: 0, width: 80, depth: 0 });
    expect(box(boxes, 4)).toEqual({ node: 4, x: 80, width: 20, depth: 0 });
    expect(box(boxes, 2)).toEqual({ node: 2, x: 0, width: 60, depth: 1 });
    expect(box(boxes, 1)).toEqual({ node: 1, x: 60, width: 20, depth: 1 });
    expect(box(boxes, 3)).toEqual({ node: 3, x: 0, width: 30, depth: 2 });
  });

  test("a chosen frame fills the width, the frames above it are gone", () => {
    const boxes = layoutFlame(TREE, WEIGHT, 2, 100);
    expect(boxes.map((b) => b.node).sort()).toEqual([2, 3]);
    expect(box(boxes, 2)?.width).toBe(100);
    expect(box(boxes, 3)?.width).toBe(50);
  });

  test("frames without weight or too narrow to see are left out", () => {
    expect(layoutFlame(TREE, [8, 0, 8, 0, 0], null, 100).map((b) => b.node)).toEqual([0, 2]);
    expect(box(layoutFlame(TREE, [1000, 1, 999, 999, 0], null, 100), 1)).toBeUndefined();
  });

  test("a tree without weight is empty", () => {
    expect(layoutFlame(TREE, [0, 0, 0, 0, 0], null, 100)).toEqual([]);
    expect(layoutFlame({ names: [], parent: [], children: [], roots: [] }, [], null, 100)).toEqual([]);
  });

  test("a callee lies within its caller", () => {
    const boxes = layoutFlame(TREE, WEIGHT, null, 333);
    for (const b of boxes) {
      const up = box(boxes, TREE.parent[b.node] ?? -1);
      if (up) expect(b.x >= up.x && b.x + b.width <= up.x + up.width + 1e-9).toBe(true);
    }
  });
});

describe("nodeAt", () => {
  const boxes = layoutFlame(TREE, WEIGHT, null, 100);
  test("finds the frame under a point", () => {
    expect(nodeAt(boxes, 10, 0)).toBe(0);
    expect(nodeAt(boxes, 10, ROW_PX)).toBe(2);
    expect(nodeAt(boxes, 65, ROW_PX + 3)).toBe(1);
    expect(nodeAt(boxes, 10, 2 * ROW_PX)).toBe(3);
  });
  test("an edge belongs to the frame that starts there", () => expect(nodeAt(boxes, 60, ROW_PX)).toBe(1));
  test("beside and below the frames is nothing", () => {
    expect(nodeAt(boxes, 81, ROW_PX)).toBeNull();
    expect(nodeAt(boxes, 10, 3 * ROW_PX)).toBeNull();
  });
});

test("the height is that of the deepest frame, and of one row when there is none", () => {
  expect(flameHeight(layoutFlame(TREE, WEIGHT, null, 100))).toBe(3 * ROW_PX);
  expect(flameHeight([])).toBe(ROW_PX);
});
