// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import type { TimelineLane } from "../../data/generated";
import { dropAt, laneFilter, peersOf, placeLanes, totalHeight } from "./lane_tree";

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

test("the stacks of CPU samples are shown when they are opened or pinned", () => {
  const lanes: TimelineLane[] = [
    lane(0, null, "python 1"),
    { ...lane(1, 0, "thread 1 (CPU samples)", 1), kind: "samples" },
    { ...lane(2, 1, "stacks", 12), kind: "stacks" },
  ];
  const shown = (choice: object) => placeLanes(lanes, { ...NONE, ...choice }).map((p) => p.lane.id);
  expect(shown({})).toEqual([0, 1]);
  expect(shown({ opened: new Set([1]) })).toEqual([0, 1, 2]);
  expect(shown({ opened: new Set([1]), closed: new Set([0]) })).toEqual([0]);
  expect(shown({ closed: new Set([1]) })).toEqual([0, 1]);
  expect(shown({ pinned: new Set([2]) })).toEqual([2, 0, 1]);
  expect(placeLanes(lanes, NONE).map((p) => p.isClosed)).toEqual([false, true]);
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

test("pinned lanes are in the order in which they were pinned", () => {
  expect(ids({ pinned: new Set([5, 2]) })).toEqual([5, 2, 0, 1, 3, 4]);
  expect(ids({ pinned: new Set([2, 5, 99]) })).toEqual([2, 5, 0, 1, 3, 4]);
});

test("lanes are shown in the order of the reader", () => {
  expect(ids({ order: "4.0;3.1" })).toEqual([4, 5, 0, 3, 1, 2]);
});

test("a lane that is dragged goes beside one of its own level", () => {
  const placed = placeLanes(LANES, { ...NONE, pinned: new Set([5, 2]) });
  const of = (id: number) => placed.find((p) => p.lane.id === id) ?? placed[0];
  const drop = (id: number, y: number) => {
    const found = dropAt(placed, of(id), y);
    return found && [found.beside.lane.id, found.place];
  };
  expect(peersOf(placed, of(2)).map((p) => p.lane.id)).toEqual([5, 2]);
  expect(drop(2, 0)).toEqual([5, "before"]);
  expect(drop(2, 1e6)).toBeNull();
  expect(drop(4, of(0).top)).toEqual([0, "before"]);
  expect(drop(0, 1e6)).toEqual([4, "after"]);
  expect(drop(0, of(3).top + 2)).toBeNull(); // its own
  expect(drop(3, of(1).top + 1)).toEqual([1, "before"]);
});

test("lanes are stacked without gaps", () => {
  const placed = placeLanes(LANES, NONE);
  placed.forEach((p, i) => {
    expect(p.top).toBe(i === 0 ? 0 : placed[i - 1].top + placed[i - 1].height);
  });
  expect(totalHeight(placed)).toBeGreaterThan(100);
  expect(totalHeight([])).toBe(0);
});
