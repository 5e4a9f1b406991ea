// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import type { TimelineLane } from "../../data/generated";
import { movedOrder, orderLanes } from "./lane_order";

const lane = (id: number, parent: number | null): TimelineLane => ({
  id,
  parent,
  kind: "thread",
  name: `lane ${id}`,
  depths: 1,
  count: 1,
  first_ns: 0,
  last_ns: 9,
});
const LANES = [lane(0, null), lane(1, 0), lane(2, 1), lane(3, 1), lane(4, 0), lane(5, null), lane(6, 5)];
const ids = (text: string) => orderLanes(LANES, text).map((l) => l.id);

test("lanes change places with what is below them", () => {
  expect(ids("")).toEqual([0, 1, 2, 3, 4, 5, 6]);
  expect(ids("5.0")).toEqual([5, 6, 0, 1, 2, 3, 4]);
  expect(ids("4.1;3.2")).toEqual([0, 4, 1, 3, 2, 5, 6]);
});

test("an address that does not fit the run loses no lane", () => {
  for (const text of ["99.98", "3", "x.y", ";;", "4.99", "2.2.2", "6.0"])
    expect(ids(text).sort()).toEqual([0, 1, 2, 3, 4, 5, 6]);
  expect(ids("4")).toEqual([0, 4, 1, 2, 3, 5, 6]);
});

test("a move is written, and undone it leaves nothing in the address", () => {
  const moved = movedOrder(LANES, "", LANES[4], LANES[1], "before");
  expect(moved).toBe("4.1");
  expect(movedOrder(LANES, moved, LANES[3], LANES[2], "before")).toBe("4.1;3.2");
  expect(movedOrder(LANES, moved, LANES[4], LANES[1], "after")).toBe("");
});

test("a lane stays below the one it is below", () => {
  expect(movedOrder(LANES, "", LANES[2], LANES[6], "before")).toBe("");
  expect(movedOrder(LANES, "4.1", LANES[2], LANES[2], "before")).toBe("4.1");
});
