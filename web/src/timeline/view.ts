// SPDX-License-Identifier: Apache-2.0
// A window on time, in any unit. All windows lie within [0, end].

export interface View {
  from: number;
  to: number;
}

// The window that starts as near to `from` as it can and is `span` long.
export function placeView(from: number, span: number, end: number): View {
  const length = Math.min(span, end);
  const start = Math.min(Math.max(0, from), end - length);
  return { from: start, to: start + length };
}

// `factor` below 1 zooms in; the time at the part `at` (0..1) of the window stays where it is. `least` is the shortest
// window.
export function zoomView(view: View, factor: number, at: number, least: number, end: number): View {
  const before = view.to - view.from;
  const span = Math.min(end, Math.max(before * factor, least));
  return placeView(view.from + (before - span) * at, span, end);
}

// Moves by a part of the window's length.
export function moveView(view: View, part: number, end: number): View {
  const span = view.to - view.from;
  return placeView(view.from + span * part, span, end);
}

export const timeAt = (view: View, x: number, width: number): number =>
  view.from + (x / Math.max(1, width)) * (view.to - view.from);

// Round times for the labels of an axis, about one per 110 pixels.
export function ticks(view: View, width: number): number[] {
  const rough = (view.to - view.from) / Math.max(2, width / 110);
  if (!(rough > 0)) return [];
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * unit).find((s) => s >= rough) ?? 10 * unit;
  const out: number[] = [];
  for (let k = Math.ceil(view.from / step); k * step <= view.to; ++k) out.push(k * step);
  return out;
}

const UNITS: [name: string, ns: number][] = [
  ["s", 1e9],
  ["ms", 1e6],
  ["µs", 1e3],
  ["ns", 1],
];

// The label of a tick, with as many digits as tell it from the next one `step_us` away.
export function tickText(at_us: number, step_us: number): string {
  if (Math.abs(at_us) < step_us * 1e-6) return "0";
  const [unit, ns] = UNITS.find(([, size]) => Math.abs(at_us) * 1e3 >= size) ?? UNITS[3];
  const step = (step_us * 1e3) / ns;
  const digits = Math.max(0, Math.min(9, Math.ceil(-Math.log10(step) - 1e-9)));
  return `${((at_us * 1e3) / ns).toFixed(digits)}\u00a0${unit}`;
}
