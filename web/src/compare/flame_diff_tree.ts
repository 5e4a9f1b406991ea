// SPDX-License-Identifier: Apache-2.0
// The merged call tree of both runs in lists, with the time of each frame in A, in B and their mean.
import type { FlameFrame } from "../data/replies";
import type { FlameTree } from "../widgets/flame_layout";

export interface DiffTree extends FlameTree {
  a: Float64Array;
  b: Float64Array;
  both: Float64Array;
}

export function flattenFrames(root: FlameFrame): DiffTree {
  const frames: FlameFrame[] = [root];
  const parent: (number | null)[] = [null];
  const children: number[][] = [];
  for (let at = 0; at < frames.length; ++at) {
    children.push([]);
    for (const child of frames[at].children) {
      children[at].push(frames.length);
      parent.push(at);
      frames.push(child);
    }
  }
  return {
    names: frames.map((f) => f.name),
    parent,
    children,
    roots: [0],
    a: Float64Array.from(frames, (f) => f.a_ms),
    b: Float64Array.from(frames, (f) => f.b_ms),
    both: Float64Array.from(frames, (f) => (f.a_ms + f.b_ms) / 2),
  };
}

// The largest change of a frame below the root: it gets the strongest colour.
export function largestChange({ a, b }: DiffTree): number {
  let most = 0;
  for (let i = 1; i < a.length; ++i) most = Math.max(most, Math.abs(b[i] - a[i]));
  return most;
}

// -1 (saved most) .. 1 (added most). The root of the ratio keeps small changes visible.
export function changeStrength(delta: number, largest: number): number {
  return largest > 0 ? Math.sign(delta) * Math.sqrt(Math.abs(delta) / largest) : 0;
}
