// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import type { LiveRow } from "../../data/generated";
import { chosenRow, mergedRows, programOf } from "./live_rows";

const row = (live_id: string, kernels = 0, state: LiveRow["state"] = "recording") =>
  ({ live_id, kernels, state }) as LiveRow;

test("an event changes its row, adds one, or takes it away", () => {
  const two = [row("a"), row("b")];
  expect(mergedRows(two, row("a", 5)).map((r) => r.kernels)).toEqual([5, 0]);
  expect(mergedRows(two, row("c")).map((r) => r.live_id)).toEqual(["a", "b", "c"]);
  expect(mergedRows(two, row("a", 5, "ended")).map((r) => r.live_id)).toEqual(["b"]);
});

test("the newest recording is shown unless the address names one", () => {
  const two = [row("a"), row("b")];
  expect(chosenRow(two, null)?.live_id).toBe("b");
  expect(chosenRow(two, "a")?.live_id).toBe("a");
  expect(chosenRow(two, "gone")).toBeUndefined();
  expect(chosenRow([], null)).toBeUndefined();
});

test("a program goes by its name", () => {
  expect(programOf({ ...row("a"), command: ["/usr/bin/python3", "/home/x/train.py"] })).toBe(
    "python3 /home/x/train.py",
  );
  expect(programOf({ ...row("a"), command: [] })).toBe("a");
});
