// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { stripShapes } from "./path_shape";

test("classes are stacked, a share of 0 draws nothing", () => {
  const shapes = stripShapes(
    {
      bin_ms: 1,
      classes: [
        { class: "kernel", share: [0.5, 0] },
        { class: "launch", share: [0.25, 1] },
      ],
    },
    20,
    100,
  );
  expect(shapes).toEqual([
    { name: "kernel", shape: "M0.00 100.00h10.30v-50.00h-10.30z" },
    { name: "launch", shape: "M0.00 50.00h10.30v-25.00h-10.30zM10.00 100.00h10.30v-100.00h-10.30z" },
  ]);
});

test("a strip without classes has no shapes", () => {
  expect(stripShapes({ bin_ms: 1, classes: [] }, 20, 100)).toEqual([]);
});
