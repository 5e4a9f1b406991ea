// SPDX-License-Identifier: Apache-2.0
// The roofs of a roofline plot and its two logarithmic axes. Positions are powers of ten.
import type { DevicePeaks, RooflinePoint } from "../data/replies";

export interface Roof {
  label: string;
  tflops: number;
}

export interface Peaks {
  gbps: number | null;
  roofs: Roof[];
  source: string | null;
}

const COMPUTE_PEAKS = ["bf16", "fp16", "tf32", "fp8", "fp32", "fp64"] as const;

// The highest bandwidth, and the compute peaks of the number formats in use (all when none is known). Formats with the
// same peak share a roof.
export function readPeaks(devices: DevicePeaks[], formats: Set<string>): Peaks {
  const found: Peaks = { gbps: null, roofs: [], source: null };
  for (const device of devices) {
    found.source ??= device.source;
    if (device.dram_gbps !== null && device.dram_gbps > (found.gbps ?? 0)) found.gbps = device.dram_gbps;
    for (const format of COMPUTE_PEAKS) {
      const tflops = device[`${format}_tflops`];
      if (tflops === null || tflops <= 0 || (formats.size > 0 && !formats.has(format))) continue;
      const same = found.roofs.find((r) => r.tflops === tflops);
      if (!same) found.roofs.push({ label: format, tflops });
      else if (!same.label.split(", ").includes(format)) same.label += `, ${format}`;
    }
  }
  return found;
}

// A point that has a place on logarithmic axes.
export interface PlottedPoint {
  point: RooflinePoint;
  x: number;
  y: number;
}

export function plottedPoints(points: RooflinePoint[]): PlottedPoint[] {
  const out: PlottedPoint[] = [];
  for (const point of points) {
    if (point.ai !== null && point.ai > 0 && point.tflops !== null && point.tflops > 0)
      out.push({ point, x: Math.log10(point.ai), y: Math.log10(point.tflops) });
  }
  return out;
}

export interface Axes {
  x0: number;
  x1: number;
  y0: number;
  y1: number;
  ridge: number | null; // intensity at which the highest compute roof meets the bandwidth
  best: number | null; // the highest compute roof
}

const MARGIN = 0.15; // decades, so that no circle is cut by an axis
const MOST_DECADES = 8; // of rates

// Room for every point and for the corner of the roofs. Points more than MOST_DECADES below the top are below the plot.
export function axesFor(points: PlottedPoint[], { gbps, roofs }: Peaks): Axes {
  const best = roofs.length > 0 ? Math.log10(Math.max(...roofs.map((r) => r.tflops))) : null;
  const ridge = gbps !== null && best !== null ? best + 3 - Math.log10(gbps) : null;
  const xs = points.map((p) => p.x);
  const ys = points.map((p) => p.y);
  const y1 = Math.max(best !== null ? best + 0.35 : 0.5, Math.max(...ys) + 0.2);
  return {
    x0: Math.floor(Math.min(-1, ...xs.map((x) => x - MARGIN))),
    x1: Math.ceil(Math.max((ridge ?? 1) + 0.7, ...xs.map((x) => x + MARGIN))),
    y0: Math.max(y1 - MOST_DECADES, Math.floor(Math.min(0, ...ys.map((y) => y - MARGIN)))),
    y1,
    ridge,
    best,
  };
}

export const isBelow = (axes: Axes, { y }: PlottedPoint): boolean => y < axes.y0 + MARGIN - 1e-9;

// Both ends of the bandwidth roof: y = x + log10(gbps) - 3.
export function bandwidthRoof(axes: Axes, gbps: number): { from: [number, number]; to: [number, number] } {
  const rise = Math.log10(gbps) - 3;
  const right = axes.ridge === null ? Math.min(axes.x1, axes.y1 - rise) : Math.min(axes.x1, axes.ridge);
  const left = Math.max(axes.x0, axes.y0 - rise);
  return { from: [left, left + rise], to: [right, right + rise] };
}

const LABEL_HEIGHT = 14; // pixels

// Where the label of each roof is written, given the roofs' places in pixels: above its line, or below it where the
// label of a roof just above would cover it.
export function labelPlaces(lines: number[]): number[] {
  const out = new Array<number>(lines.length);
  let last = Number.NEGATIVE_INFINITY;
  for (const i of lines.map((_, i) => i).sort((a, b) => lines[a] - lines[b])) {
    const above = lines[i] - 4;
    last = above - last >= LABEL_HEIGHT ? above : Math.max(lines[i] + 12, last + LABEL_HEIGHT);
    out[i] = last;
  }
  return out;
}

export function decades(from: number, to: number): number[] {
  const out: number[] = [];
  for (let e = Math.ceil(from); e <= Math.floor(to); ++e) out.push(e);
  return out;
}

export function powerText(value: number): string {
  if (value >= 1e4 || value < 1e-2) return value.toExponential(0).replace("+", "");
  return String(Number(value.toPrecision(3)));
}
