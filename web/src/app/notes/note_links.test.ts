// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import type { RunNote } from "../../data/generated";
import { noteAddress, noteSubject } from "./note_links";

const note = (more: Partial<RunNote>): RunNote => ({
  id: 7,
  created_at: "2026-01-01T00:00:00Z",
  author: "ada",
  text: "x",
  from_ns: null,
  to_ns: null,
  table: null,
  event_id: null,
  ...more,
});
const time = (ns: number) => `${ns} ns`;

test("a note leads to what it is about", () => {
  expect(noteAddress("r", note({}))).toBe("/runs/r?note=7");
  const event = new URL(noteAddress("r", note({ table: "api_call", event_id: 12 })), "http://x");
  expect(event.pathname).toBe("/runs/r/timeline");
  expect(Object.fromEntries(event.searchParams)).toEqual({ note: "7", event: "api_call:12" });
  const window = new URL(noteAddress("r", note({ from_ns: 4e6, to_ns: 8e6 })), "http://x");
  expect(Object.fromEntries(window.searchParams)).toEqual({ note: "7", area: "4000000,8000000", from: "3", to: "9" });
});

test("a note says what it is about", () => {
  expect(noteSubject(note({}), time)).toBe("the run");
  expect(noteSubject(note({ table: "api_call", event_id: 12 }), time)).toBe("api call 12");
  expect(noteSubject(note({ from_ns: 0, to_ns: 5 }), time)).toBe("0 ns to 5 ns");
});
