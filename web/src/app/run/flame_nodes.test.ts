// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import type { FlameRow } from "../../data/generated";
import { buildTree, rootTotal } from "../../report/flame_tree";
import { flameNodes } from "./flame_nodes";

const row = (
  depth: number,
  name: string,
  host: number | null,
  gpu: number,
  weight: number | null = null,
): FlameRow => ({
  depth,
  name,
  device_frame: false,
  calls: 1,
  host_total_ms: host,
  host_self_ms: null,
  weight,
  self_weight: null,
  gpu_total_ms: gpu,
  gpu_self_ms: 0,
  share: 0,
});

test("totals of the tree are those of the rows", () => {
  const nodes = flameNodes([
    row(0, "a", 10, 4),
    row(1, "b", 6, 3),
    row(2, "c", 1, 1),
    row(1, "d", 2, 0),
    row(0, "e", 5, 5),
  ]);
  expect(nodes.map((n) => n.parent)).toEqual([null, 0, 1, 0, null]);
  const tree = buildTree(nodes);
  expect([...tree.total.host]).toEqual([10, 6, 1, 2, 5]);
  expect([...tree.total.device]).toEqual([4, 3, 1, 0, 5]);
  expect(rootTotal(tree, "host")).toBe(15);
});

test("a profile without times has weights", () => {
  expect(flameNodes([row(0, "a", null, 0, 7)])[0].host_self_ms).toBe(7);
});
