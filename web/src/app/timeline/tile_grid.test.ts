// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { keyText, levelFor, neighboursOf, standIn, tileEnd, tileStart, tilesFor } from "./tile_grid";

test("tiles cover the window and are at most two", () => {
  for (const [from, span] of [
    [0, 1000],
    [1023, 2],
    [123_456_789, 1_000_003],
    [1e15, 3e9],
    [5, 1],
  ]) {
    const keys = tilesFor(from, from + span);
    expect(keys.length).toBeLessThanOrEqual(2);
    expect(tileStart(keys[0])).toBeLessThanOrEqual(from);
    expect(tileEnd(keys[keys.length - 1])).toBeGreaterThanOrEqual(from + span);
    expect(tileEnd(keys[0]) - tileStart(keys[0])).toBeLessThan(2 * span + 1);
  }
  expect(levelFor(0)).toBe(0);
});

test("a longer tile stands in for one that is missing", () => {
  const has = new Set([keyText({ level: 12, index: 1 })]);
  expect(standIn({ level: 10, index: 6 }, (k) => has.has(k))).toEqual({ level: 12, index: 1 });
  expect(standIn({ level: 10, index: 9 }, (k) => has.has(k))).toBeNull();
});

test("neighbours are beside and above", () => {
  expect(neighboursOf([{ level: 3, index: 4 }]).map(keyText)).toEqual(["3:3", "3:5", "4:2"]);
});
