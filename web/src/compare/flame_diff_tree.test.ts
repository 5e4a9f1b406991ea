// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import type { FlameFrame } from "../data/replies";
import { changeStrength, flattenFrames, largestChange } from "./flame_diff_tree";

const frame = (name: string, a: number, b: number, children: FlameFrame[] = []): FlameFrame => ({
  name,
  a_ms: a,
  b_ms: b,
  children,
});
const ROOT = frame("(run)", 10, 14, [frame("mm", 6, 5, [frame("gemm", 4, 1)]), frame("new", 0, 2)]);

test("frames keep their parents, children and times", () => {
  const tree = flattenFrames(ROOT);
  const at = (name: string) => tree.names.indexOf(name);
  expect(tree.roots).toEqual([0]);
  expect(tree.parent[at("(run)")]).toBeNull();
  expect(tree.parent[at("gemm")]).toBe(at("mm"));
  expect(tree.children[0].map((i) => tree.names[i])).toEqual(["mm", "new"]);
  expect([tree.a[at("gemm")], tree.b[at("gemm")], tree.both[at("gemm")]]).toEqual([4, 1, 2.5]);
});

test("the largest change is of a frame below the root, whatever its sign", () => {
  expect(largestChange(flattenFrames(ROOT))).toBe(3);
  expect(largestChange(flattenFrames(frame("(run)", 1, 9)))).toBe(0);
});

test("strength has the sign of the change and is at most 1 below the root", () => {
  expect(changeStrength(3, 3)).toBe(1);
  expect(changeStrength(-0.75, 3)).toBe(-0.5);
  expect(changeStrength(0, 3)).toBe(0);
  expect(changeStrength(5, 0)).toBe(0);
});
