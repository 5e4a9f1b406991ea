// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest";
import { moveView, placeView, ticks, tickText, timeAt, zoomView } from "./view";

const END = 1000;

describe("placeView", () => {
  test("stays within the run", () => {
    expect(placeView(-50, 100, END)).toEqual({ from: 0, to: 100 });
    expect(placeView(980, 100, END)).toEqual({ from: 900, to: 1000 });
  });
  test("is never longer than the run", () => expect(placeView(300, 5000, END)).toEqual({ from: 0, to: END }));
});

describe("zoomView", () => {
  test("halves around the middle", () => {
    expect(zoomView({ from: 0, to: END }, 0.5, 0.5, 1, END)).toEqual({ from: 250, to: 750 });
  });
  test("keeps the time under the mouse", () => {
    for (const at of [0, 0.3, 1]) {
      const before = { from: 200, to: 600 };
      const after = zoomView(before, 0.37, at, 1, END);
      expect(timeAt(after, at, 1)).toBeCloseTo(timeAt(before, at, 1), 9);
    }
  });
  test("stops at the shortest window", () => {
    const view = zoomView({ from: 500, to: 502 }, 0.001, 0.5, 1, END);
    expect(view).toEqual({ from: 500.5, to: 501.5 });
  });
  test("zooming out ends at the whole run", () => {
    expect(zoomView({ from: 10, to: 900 }, 100, 0.9, 1, END)).toEqual({ from: 0, to: END });
  });
  test("a window that would pass an end is pushed back", () => {
    expect(zoomView({ from: 0, to: 100 }, 2, 1, 1, END)).toEqual({ from: 0, to: 200 });
    expect(zoomView({ from: 900, to: END }, 2, 0, 1, END)).toEqual({ from: 800, to: END });
  });
});

describe("moveView", () => {
  test("moves by a part of its length", () => {
    expect(moveView({ from: 100, to: 200 }, 0.5, END)).toEqual({ from: 150, to: 250 });
    expect(moveView({ from: 100, to: 200 }, -0.5, END)).toEqual({ from: 50, to: 150 });
  });
  test("keeps its length at both ends", () => {
    expect(moveView({ from: 50, to: 150 }, -3, END)).toEqual({ from: 0, to: 100 });
    expect(moveView({ from: 850, to: 950 }, 3, END)).toEqual({ from: 900, to: END });
  });
});

describe("ticks", () => {
  test("are round and within the window", () => {
    expect(ticks({ from: 130, to: 630 }, 550)).toEqual([200, 300, 400, 500, 600]);
    expect(ticks({ from: 0, to: 1 }, 220)).toEqual([0, 0.5, 1]);
  });
  test("do not drift in a window far from 0", () => {
    const list = ticks({ from: 1e9, to: 1e9 + 1 }, 1100);
    expect(list[0]).toBe(1e9);
    expect(list).toHaveLength(11);
  });
  test("a window without length has none", () => expect(ticks({ from: 5, to: 5 }, 1000)).toEqual([]));
  test("an axis without width has few", () => expect(ticks({ from: 0, to: 10 }, 0).length).toBeLessThan(5));
});

test("a chart without width has a time", () => expect(timeAt({ from: 1, to: 2 }, 0, 0)).toBe(1));

test("neighbouring ticks have different labels", () => {
  expect(tickText(0, 5)).toBe("0");
  expect(tickText(50_000, 50_000)).toBe("50\u00a0ms");
  expect(tickText(97_620.5, 0.5)).toBe("97.6205\u00a0ms");
  expect(tickText(97_621, 0.5)).toBe("97.6210\u00a0ms");
  expect(tickText(2_500_000, 500_000)).toBe("2.5\u00a0s");
  expect(tickText(0.25, 0.05)).toBe("250\u00a0ns");
});
