// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import type { TimelineLane } from "../../data/generated";
import { laneFilter, placeLanes, totalHeight } from "./lane_tree";

const lane = (id: number, parent: number | null, name: string, depths = 0): TimelineLane => ({
  id,
  parent,
  kind: depths > 0 ? "thread" : "process",
  name,
  depths,
  count: 1,
  first_ns: 0,
  last_ns: 9,
});
const LANES = [
  lane(0, null, "python 1"),
  lane(1, 0, "GPU 0"),
  lane(2, 1, "stream 7", 1),
  lane(3, 0, "thread 1 (main)", 3),
  lane(4, null, "python 2"),
  lane(5, 4, "thread 9", 2),
];
const NONE = { closed: new Set<number>(), pinned: new Set<number>(), filter: null };
const ids = (choice: object) => placeLanes(LANES, { ...NONE, ...choice }).map((p) => p.lane.id);

test("closed lanes hide what is below them", () => {
  expect(ids({})).toEqual([0, 1, 2, 3, 4, 5]);
  expect(ids({ closed: new Set([1]) })).toEqual([0, 1, 3, 4, 5]);
  expect(ids({ closed: new Set([0]) })).toEqual([0, 4, 5]);
});

test("a filter keeps matches, what they are below, and what is below them", () => {
  expect(ids({ filter: laneFilter("stream") })).toEqual([0, 1, 2]);
  expect(ids({ filter: laneFilter("python 2") })).toEqual([4, 5]);
  expect(ids({ filter: laneFilter("thread (1|9)") })).toEqual([0, 3, 4, 5]);
  expect(ids({ filter: laneFilter("(main") })).toEqual([0, 3]);
});

test("pinned lanes come first, even out of a closed one", () => {
  expect(ids({ pinned: new Set([5]), closed: new Set([4]) })).toEqual([5, 0, 1, 2, 3, 4]);
});

test("lanes are stacked without gaps", () => {
  const placed = placeLanes(LANES, NONE);
  placed.forEach((p, i) => {
    expect(p.top).toBe(i === 0 ? 0 : placed[i - 1].top + placed[i - 1].height);
  });
  expect(totalHeight(placed)).toBeGreaterThan(100);
  expect(totalHeight([])).toBe(0);
});
