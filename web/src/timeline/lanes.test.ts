// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest";
import type { ReportLane, ReportTimeline } from "../data/replies";
import { AXIS_PX } from "./axis";
import { coverage, HEAD_PX, headAt, LEVELS, placeLanes, ROW_PX, spanAt, usedCategories } from "./lanes";

type Span = [start: number, duration: number, depth?: number, category?: number];

function makeLane(kind: "device" | "host", spans: Span[], depthMax?: number): ReportLane {
  return {
    name: kind,
    kind,
    depth_max: depthMax ?? Math.max(0, ...spans.map((s) => s[2] ?? 0)),
    start_us: spans.map((s) => s[0]),
    dur_us: spans.map((s) => s[1]),
    name_id: spans.map(() => 0),
    category: spans.map((s) => s[3] ?? 0),
    depth: spans.map((s) => s[2] ?? 0),
  };
}
const makeTimeline = (lanes: ReportLane[], wallUs = 100): ReportTimeline => ({
  wall_us: wallUs,
  events_total: 0,
  events_drawn: 0,
  merged_below_us: null,
  categories: ["compute", "memory", "op"],
  names: ["x"],
  lanes,
});

describe("placeLanes", () => {
  const flat = makeLane("device", [[0, 1]]);
  const deep = makeLane("host", [[0, 1]], 19);
  test("lanes follow each other below the axis, deep ones cut", () => {
    const { placed, height } = placeLanes([flat, deep], new Set());
    expect(placed[0].top).toBe(AXIS_PX);
    expect(placed[1].top).toBeGreaterThanOrEqual(AXIS_PX + HEAD_PX + ROW_PX);
    expect(placed.map((p) => p.rows)).toEqual([1, LEVELS]);
    expect(height).toBeGreaterThanOrEqual(placed[1].top + HEAD_PX + LEVELS * ROW_PX);
  });
  test("an expanded lane has all of its levels", () => {
    expect(placeLanes([deep], new Set([deep])).placed[0].rows).toBe(20);
  });
  test("no lanes have the height of the axis", () => expect(placeLanes([], new Set()).height).toBe(AXIS_PX));
  test("the title of a lane is above its rows", () => {
    const { placed } = placeLanes([flat, deep], new Set());
    expect(headAt(placed, AXIS_PX)).toBe(flat);
    expect(headAt(placed, AXIS_PX + HEAD_PX)).toBeNull();
    expect(headAt(placed, placed[1].top + 1)).toBe(deep);
  });
});

describe("spanAt", () => {
  const lane = makeLane("device", [
    [10, 20],
    [40, 0],
    [12, 5, 1],
  ]);
  const { placed } = placeLanes([lane], new Set());
  const view = { from: 0, to: 100 };
  const row = (r: number) => AXIS_PX + HEAD_PX + r * ROW_PX + 2;
  const hit = (x: number, y: number, v = view) => spanAt(placed, v, 1000, x, y)?.index ?? null;

  test("finds the span of the row under the mouse", () => {
    expect(hit(150, row(0))).toBe(0);
    expect(hit(150, row(1))).toBe(2);
  });
  test("a span of no length is hit within a pixel", () => {
    expect(hit(400, row(0))).toBe(1);
    expect(hit(401, row(0))).toBe(1);
    expect(hit(403, row(0))).toBeNull();
  });
  test("follows the zoom", () => {
    expect(hit(500, row(0), { from: 20, to: 24 })).toBe(0);
    expect(hit(500, row(0), { from: 60, to: 64 })).toBeNull();
  });
  test("titles, gaps and beyond the lanes are nothing", () => {
    expect(hit(150, AXIS_PX + 1)).toBeNull();
    expect(hit(350, row(0))).toBeNull();
    expect(hit(150, row(5))).toBeNull();
  });
  test("levels that are not drawn cannot be hit", () => {
    const deep = makeLane("host", [[0, 100, LEVELS]]);
    const at = placeLanes([deep], new Set()).placed;
    expect(spanAt(at, view, 1000, 500, AXIS_PX + HEAD_PX + LEVELS * ROW_PX + 2)).toBeNull();
  });
});

describe("coverage", () => {
  test("a span covers its pixels in part, by category", () => {
    const [compute, memory] = coverage(
      makeTimeline([
        makeLane("device", [
          [0, 15],
          [20, 10, 0, 1],
        ]),
      ]),
      "device",
      10,
    );
    expect([...compute].map((v) => Number(v.toFixed(3)))).toEqual([1, 0.5, 0, 0, 0, 0, 0, 0, 0, 0]);
    expect(memory[2]).toBeCloseTo(1, 5);
  });
  test("callees of the host and lanes of the other kind do not count", () => {
    const lanes = [
      makeLane("host", [
        [0, 10],
        [0, 10, 1],
      ]),
      makeLane("device", [[0, 100]]),
    ];
    expect(coverage(makeTimeline(lanes), "host", 10)[0][0]).toBeCloseTo(1, 5);
  });
  test("a run without length is not covered", () => {
    const sums = coverage(makeTimeline([makeLane("device", [[0, 0]])], 0), "device", 4);
    expect([...sums[0]]).toEqual([0, 0, 0, 0]);
  });
  test("a span past the end stays within the chart", () => {
    expect([...coverage(makeTimeline([makeLane("device", [[90, 100]])]), "device", 10)[0]][9]).toBeCloseTo(1, 5);
  });
});

test("only categories that occur are in the legend", () => {
  expect(
    usedCategories(
      makeTimeline([
        makeLane("device", [
          [0, 1, 0, 2],
          [1, 1, 0, 0],
        ]),
      ]),
    ),
  ).toEqual(["compute", "op"]);
});
