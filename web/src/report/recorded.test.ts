// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import type { ReportPart } from "../data/replies";
import { recordedShares } from "./recorded";

const part = (what: ReportPart["what"], share: number, idle: boolean) => ({
  what,
  label: what,
  ms: share,
  share,
  idle,
});

test("busy is a share of what was recorded", () => {
  const { recorded, busy } = recordedShares([
    part("compute", 0.2, false),
    part("memory", 0.1, false),
    part("idle_host", 0.3, true),
    part("paused", 0.4, true),
  ]);
  expect(recorded).toBeCloseTo(0.6, 12);
  expect(busy).toBeCloseTo(0.5, 12);
});

test("without parts everything is recorded and nothing busy", () => {
  expect(recordedShares([])).toEqual({ recorded: 1, busy: 0 });
});

test("a run that was paused all the time is not busy", () => {
  expect(recordedShares([part("paused", 1, true)])).toEqual({ recorded: 0, busy: 0 });
});
