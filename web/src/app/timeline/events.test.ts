// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import type { TimelineChainLink } from "../../data/generated";
import { eventField, flowsOf, parseEvent } from "./events";

test("an event of an address is a table and a row", () => {
  expect(parseEvent("api_call:12")).toEqual({ table: "api_call", id: 12, depth: null });
  expect(parseEvent("cpu_sample:12:3")).toEqual({ table: "cpu_sample", id: 12, depth: 3 });
  for (const text of ["api_call:12", "cpu_sample:12:0"]) {
    const event = parseEvent(text);
    expect(event && eventField(event)).toBe(text);
  }
  for (const text of ["", "kernel", "kernel:", 'k"el:1', "kernel:-1", "kernel:1:", "kernel:1:x"])
    expect(parseEvent(text)).toBeNull();
});

test("flows lead from the launch to the event and on to what it caused", () => {
  const link = (role: string, lane: number | null, start_ns: number): TimelineChainLink => ({
    role,
    lane,
    start_ns,
    table: "op",
    id: 1,
    name: "x",
    dur_ns: 1,
  });
  const chain = [link("event", 2, 50), link("launch", 3, 40), link("inside", 3, 0), link("caused", null, 60)];
  expect(flowsOf(chain)).toEqual([{ from: { lane: 3, at_ns: 40 }, to: { lane: 2, at_ns: 50 } }]);
  expect(flowsOf([])).toEqual([]);
  const ranks = [link("event", 2, 50), link("peer", 5, 48), link("peer", 7, 61)];
  expect(flowsOf(ranks).map((f) => [f.from.lane, f.to.lane])).toEqual([
    [2, 5],
    [2, 7],
  ]);
});
