// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest";
import type { CompareTrack } from "../data/replies";
import { alignTracks, changesIn, changeTimes, itemAt, MAX_ROWS, nextTime, stackTrack } from "./pair_lanes";

type Item = [start: number, duration: number, partner?: number | null, change?: number | null];

const makeTrack = (items: Item[]): CompareTrack => ({
  items_total: items.length,
  merged_below_ms: null,
  start_ms: items.map((i) => i[0]),
  dur_ms: items.map((i) => i[1]),
  name: items.map(() => 0),
  partner: items.map((i) => i[2] ?? null),
  change: items.map((i) => i[3] ?? null),
  count: items.map(() => 1),
});

describe("stackTrack", () => {
  test("items after each other share a row, items at the same time do not", () => {
    const lane = stackTrack(
      makeTrack([
        [0, 2],
        [2, 2],
        [3, 2],
        [4, 1],
      ]),
    );
    expect([...lane.row]).toEqual([0, 0, 1, 0]);
    expect([lane.rows, lane.end]).toEqual([2, 5]);
  });
  test("more than fit are put into the last row", () => {
    const lane = stackTrack(makeTrack(Array.from({ length: 6 }, (): Item => [0, 10])));
    expect(lane.rows).toBe(MAX_ROWS);
    expect([...lane.row]).toEqual([0, 1, 2, 3, 3, 3]);
  });
  test("an empty track has one row and no length", () => {
    const lane = stackTrack(makeTrack([]));
    expect([lane.rows, lane.end]).toEqual([1, 0]);
  });
  test("an item of no length leaves its row free", () => {
    expect([
      ...stackTrack(
        makeTrack([
          [1, 0],
          [1, 1],
        ]),
      ).row,
    ]).toEqual([0, 0]);
  });
});

describe("alignTracks", () => {
  // B does the same twice as slowly from 10 on.
  const a = makeTrack([
    [10, 1, 0],
    [20, 1, 1],
    [30, 1, null],
  ]);
  const b = makeTrack([
    [10, 1],
    [30, 1],
  ]);
  const toB = alignTracks(a, b);
  test("matched starts meet", () => {
    expect(toB(10)).toBe(10);
    expect(toB(20)).toBe(30);
  });
  test("interpolates between them", () => expect(toB(15)).toBe(20));
  test("keeps the distance before the first and after the last", () => {
    expect(toB(0)).toBe(0);
    expect(toB(25)).toBe(35);
  });
  test("never runs backwards when partners cross", () => {
    const crossed = alignTracks(
      makeTrack([
        [10, 1, 1],
        [20, 1, 0],
        [30, 1, 2],
      ]),
      makeTrack([
        [5, 1],
        [50, 1],
        [60, 1],
      ]),
    );
    let last = Number.NEGATIVE_INFINITY;
    for (let t = 0; t <= 40; t += 0.5) {
      expect(crossed(t)).toBeGreaterThanOrEqual(last);
      last = crossed(t);
    }
  });
  test("without matches both have the same clock", () => {
    expect(alignTracks(makeTrack([[1, 1]]), makeTrack([]))(7)).toBe(7);
  });
});

describe("itemAt", () => {
  const lane = stackTrack(
    makeTrack([
      [0, 10],
      [5, 10],
      [50, 0, null, 3],
      [50, 1],
    ]),
  );
  const view = { from: 0, to: 100 };
  test("finds the item of the row", () => {
    expect(itemAt(lane, view, 1000, 70, 0)).toBe(0);
    expect(itemAt(lane, view, 1000, 70, 1)).toBe(1);
    expect(itemAt(lane, view, 1000, 300, 0)).toBeNull();
  });
  test("prefers a changed item of no length to the unchanged one beside it", () => {
    expect(itemAt(lane, view, 1000, 500, 0)).toBe(2);
  });
});

describe("changes", () => {
  const track = makeTrack([
    [0, 2, null, 1],
    [10, 0, null, 2],
    [20, 4, null, null],
    [30, 2, null, 1],
  ]);
  test("are found by rank, or all", () => {
    expect(changeTimes(track, null)).toEqual([1, 10, 31]);
    expect(changeTimes(track, 1)).toEqual([1, 31]);
    expect(changeTimes(track, 9)).toEqual([]);
    expect([...changesIn([track, makeTrack([[0, 1, null, 7]])])]).toEqual([1, 2, 7]);
  });
  test("the next one is to the right, then the first again", () => {
    expect(nextTime([31, 1, 10], { from: 0, to: 10 })).toBe(10);
    expect(nextTime([31, 1, 10], { from: 30, to: 40 })).toBe(1);
    expect(nextTime([], { from: 0, to: 10 })).toBeNull();
  });
});
