// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import type { TimelineFindSpan } from "../../data/generated";
import { pageOf } from "./find_panel";

const spans = (starts: number[]): TimelineFindSpan[] =>
  starts.map((start_ns) => ({ table: "op", id: start_ns, lane: 0, name: "x", start_ns, dur_ns: 1 }));
const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

test("a page begins at the time asked for, and the last one is full", () => {
  const starts = (next: number[], previous: number[]) =>
    pageOf({ next: spans(next), previous: spans(previous) }).map((s) => s.start_ns);
  expect(starts([5, 6], [])).toEqual([5, 6]);
  expect(starts([5, 6], [4, 3])).toEqual([3, 4, 5, 6]);
  expect(starts(upTo(50), [-1, -2])).toEqual(upTo(50));
  expect(starts([100], upTo(50).reverse())).toEqual([...upTo(50).slice(1), 100]);
});
