// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { parsePageData } from "./page_data";

test("a document is loaded", () => {
  expect(parsePageData('{"wall_ms": 1}')).toEqual({ state: "loaded", document: { wall_ms: 1 } });
});

test("the string of the page as built, and null, are empty", () => {
  expect(parsePageData('"@neurolens-report-data@"')).toEqual({ state: "empty" });
  expect(parsePageData("null")).toEqual({ state: "empty" });
});

test("truncated text is damaged", () => {
  expect(parsePageData('{"wall_ms": ')).toEqual({ state: "damaged" });
  expect(parsePageData("")).toEqual({ state: "damaged" });
});
