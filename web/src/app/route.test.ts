// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { address, changedFields, compareAddress, parseRoute, runAddress } from "./route";

test("paths name views, runs and tabs", () => {
  expect(parseRoute("/", "")).toMatchObject({ view: "runs", run: "" });
  expect(parseRoute("/runs", "")).toMatchObject({ view: "runs" });
  expect(parseRoute("/runs/a%2Fb", "")).toMatchObject({ view: "run", run: "a/b", tab: "overview" });
  expect(parseRoute("/runs/x/flame", "?q=1").fields.get("q")).toBe("1");
  expect(parseRoute("/sql", "")).toMatchObject({ view: "sql" });
  for (const path of ["/nothing", "/runs/x/nothing", "/runs/x/flame/y", "/sql/x"])
    expect(parseRoute(path, "").view).toBe("missing");
  expect(parseRoute("/runs/%zz", "").run).toBe("%zz");
});

test("an address leads back to its route", () => {
  const to = runAddress("<id> &/?", "kernels", { q: "a b&c", sort: "", zoom: 0 });
  const [path, search] = to.split("?");
  const route = parseRoute(path, `?${search}`);
  expect(route).toMatchObject({ view: "run", run: "<id> &/?", tab: "kernels" });
  expect([...route.fields]).toEqual([
    ["q", "a b&c"],
    ["zoom", "0"],
  ]);
  expect(compareAddress(["a", "b"], ["c"])).toBe("/compare?a=a%2Cb&b=c");
  expect(address("/sql")).toBe("/sql");
});

test("changing fields keeps the others", () => {
  const fields = new URLSearchParams("a=1&b=2");
  expect(changedFields(fields, { a: null, c: 3 })).toBe("?b=2&c=3");
  expect(changedFields(fields, { a: "", b: null })).toBe("");
});
