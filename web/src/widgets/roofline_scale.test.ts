// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest";
import type { DevicePeaks, RooflinePoint } from "../data/replies";
import {
  axesFor,
  bandwidthRoof,
  decades,
  isBelow,
  labelPlaces,
  plottedPoints,
  powerText,
  readPeaks,
} from "./roofline_scale";

const H200: DevicePeaks = {
  device: "NVIDIA H200",
  bf16_tflops: 989,
  fp16_tflops: 989,
  tf32_tflops: 495,
  fp8_tflops: 1979,
  fp32_tflops: 67,
  fp64_tflops: null,
  dram_gbps: 4800,
  sm_count: 132,
  kind: "datasheet",
  source: "data sheet",
};
const point = (ai: number | null, tflops: number | null) => ({ ai, tflops }) as RooflinePoint;

describe("readPeaks", () => {
  test("keeps the formats in use, one roof for equal peaks", () => {
    const { roofs, gbps, source } = readPeaks([H200], new Set(["bf16", "fp16", "fp32", "fp64"]));
    expect(roofs).toEqual([
      { label: "bf16, fp16", tflops: 989 },
      { label: "fp32", tflops: 67 },
    ]);
    expect([gbps, source]).toEqual([4800, "data sheet"]);
  });
  test("without a known format it keeps all that have a peak", () => {
    expect(readPeaks([H200], new Set()).roofs.map((r) => r.label)).toEqual(["bf16, fp16", "tf32", "fp8", "fp32"]);
  });
  test("two equal devices give no second roof, the faster memory counts", () => {
    const peaks = readPeaks([H200, { ...H200, dram_gbps: 5000 }], new Set(["bf16"]));
    expect(peaks.roofs).toEqual([{ label: "bf16", tflops: 989 }]);
    expect(peaks.gbps).toBe(5000);
  });
  test("no device, no peaks", () => {
    expect(readPeaks([], new Set(["bf16"]))).toEqual({ gbps: null, roofs: [], source: null });
  });
});

test("points without intensity or rate, or with 0, have no place", () => {
  const all = [point(null, 1), point(1, null), point(0, 1), point(1, 0), point(100, 0.1)];
  expect(plottedPoints(all).map((p) => [p.x, p.y])).toEqual([[2, -1]]);
});

test("labels of roofs close to each other do not cover each other", () => {
  expect(labelPlaces([20, 100])).toEqual([16, 96]);
  expect(labelPlaces([112, 100])).toEqual([124, 96]);
  const close = labelPlaces([100, 101, 102]).sort((a, b) => a - b);
  expect(Math.min(close[1] - close[0], close[2] - close[1])).toBeGreaterThanOrEqual(14);
});

describe("axes", () => {
  const points = plottedPoints([point(0.05, 0.001), point(300, 500)]);
  test("hold every point and the ridge", () => {
    const axes = axesFor(points, readPeaks([H200], new Set(["bf16"])));
    for (const p of points) expect(p.x >= axes.x0 && p.x <= axes.x1 && p.y <= axes.y1 && p.y >= axes.y0).toBe(true);
    expect(10 ** (axes.ridge ?? 0)).toBeCloseTo(989000 / 4800, 6);
  });
  test("leave room around points on a whole power", () => {
    const axes = axesFor(plottedPoints([point(0.01, 1e-3), point(1e4, 1)]), readPeaks([H200], new Set(["bf16"])));
    expect(axes.y0).toBe(-4);
    expect([axes.x0, axes.x1]).toEqual([-3, 5]);
  });
  test("points far below the rest are below the plot, the others inside", () => {
    const far = plottedPoints([point(0.1, 1e-9), point(0.1, 1e-4), point(300, 500)]);
    const axes = axesFor(far, readPeaks([H200], new Set(["bf16"])));
    expect(far.map((p) => isBelow(axes, p))).toEqual([true, false, false]);
    expect(axes.y1 - axes.y0).toBeCloseTo(8, 6);
  });
  test("the bandwidth roof ends in the corner of the highest compute roof", () => {
    const axes = axesFor(points, readPeaks([H200], new Set(["bf16"])));
    const roof = bandwidthRoof(axes, 4800);
    expect(roof.to[0]).toBe(axes.ridge);
    expect(10 ** roof.to[1]).toBeCloseTo(989, 6);
    expect(roof.from[1]).toBeGreaterThanOrEqual(axes.y0 - 1e-9);
  });
  test("without compute peaks the bandwidth roof ends within the plot", () => {
    const axes = axesFor(points, { gbps: 4800, roofs: [], source: null });
    expect(axes.ridge).toBeNull();
    const [x, y] = bandwidthRoof(axes, 4800).to;
    expect(x <= axes.x1 && y <= axes.y1 + 1e-9).toBe(true);
  });
});

test("decades are the whole powers within a range", () => {
  expect(decades(-1.2, 2)).toEqual([-1, 0, 1, 2]);
  expect(decades(0.1, 0.9)).toEqual([]);
});

test("powers are short", () => {
  expect(powerText(0.001)).toBe("1e-3");
  expect(powerText(0.01)).toBe("0.01");
  expect(powerText(1000)).toBe("1000");
  expect(powerText(10000)).toBe("1e4");
});
