// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import type { Tile } from "../../data/tile";
import { hitAt, lastUpTo } from "./hit";
import type { PlacedLane } from "./lane_tree";

const lane = {
  lane: { id: 3, parent: null, kind: "thread", name: "t", depths: 2, count: 3, first_ns: 0, last_ns: 9 },
  level: 0,
  top: 100,
  height: 42,
  isPinned: false,
  hasChildren: false,
  isClosed: false,
} satisfies PlacedLane;
const row = {
  lane: 3,
  depth: 1,
  start: Float64Array.of(100, 500),
  dur: Float64Array.of(50, 100),
  name: Uint32Array.of(0, 1),
  id: Float64Array.of(7, 8),
  bucket: Float64Array.of(3),
  count: Float64Array.of(12),
  busy: Uint8Array.of(9),
  top: Uint32Array.of(1),
  longest: Uint8Array.of(13),
};
const tile: Tile = {
  from_ns: 0,
  to_ns: 1000,
  bucket_ns: 64,
  exact_from_ns: 32,
  names: ["a", "b"],
  tables: ["kernel", "op"],
  rows: [row],
  series: [],
};
const drawn = { tile, rowsOf: new Map([[3, [row]]]), hues: Uint8Array.of(0, 0) };

test("the last value that is not above", () => {
  expect([5, 10, 15, 30].map((v) => lastUpTo([10, 20], v))).toEqual([-1, 0, 0, 1]);
});

test("spans, buckets and nothing are found by place", () => {
  expect(hitAt(drawn, lane, 120, 120, 1)).toMatchObject({ name: "a", table: "kernel", id: 7, start_ns: 100 });
  expect(hitAt(drawn, lane, 120, 152, 3)).toMatchObject({ id: 7 });
  expect(hitAt(drawn, lane, 120, 200, 1)).toMatchObject({ name: "b", id: null, count: 12, dur_ns: 8 });
  expect(hitAt(drawn, lane, 120, 300, 1)).toBeNull();
  expect(hitAt(drawn, lane, 105, 120, 1)).toBeNull();
});
