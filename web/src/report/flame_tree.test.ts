// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest";
import type { ReportFlameNode } from "../data/replies";
import { buildTree, rootTotal } from "./flame_tree";

const node = (name: string, parent: number | null, host: number, device: number): ReportFlameNode => ({
  name,
  kind: "host",
  parent,
  host_self_ms: host,
  device_self_ms: device,
});

describe("buildTree", () => {
  const tree = buildTree([
    node("main", null, 1, 0),
    node("step", 0, 2, 0),
    node("mm", 1, 4, 8),
    node("add", 1, 0, 16),
    node("other", null, 32, 0),
  ]);
  test("a total is the frame's own time and that of its callees", () => {
    expect([...tree.total.host]).toEqual([7, 6, 4, 0, 32]);
    expect([...tree.total.device]).toEqual([24, 24, 8, 16, 0]);
  });
  test("roots, parents and children agree", () => {
    expect(tree.roots).toEqual([0, 4]);
    expect(tree.parent).toEqual([null, 0, 1, 1, null]);
    expect(tree.children).toEqual([[1], [2, 3], [], [], []]);
  });
  test("the roots hold all time", () => {
    expect(rootTotal(tree, "host")).toBe(39);
    expect(rootTotal(tree, "device")).toBe(24);
  });
});

test("a node without a valid parent becomes a root", () => {
  const tree = buildTree([node("self", 0, 1, 0), node("far", 99, 2, 0), node("back", -1, 4, 0), node("late", 4, 8, 0)]);
  expect(tree.roots).toEqual([0, 1, 2, 3]);
  expect(rootTotal(tree, "host")).toBe(15);
});

test("no nodes, no tree", () => {
  const tree = buildTree([]);
  expect(tree.roots).toEqual([]);
  expect(rootTotal(tree, "device")).toBe(0);
});

test("a chain of 100,000 frames does not exhaust the stack", () => {
  const tree = buildTree(Array.from({ length: 100_000 }, (_, i) => node("f", i === 0 ? null : i - 1, 1, 0)));
  expect(tree.total.host[0]).toBe(100_000);
});
