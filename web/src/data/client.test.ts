// SPDX-License-Identifier: Apache-2.0
import { afterEach, expect, test, vi } from "vitest";
import { Client, ProblemError, problemOf, queryString, requestOf, UNREACHABLE } from "./client";

afterEach(() => vi.unstubAllGlobals());

const answer = (status: number, body: unknown) =>
  vi.fn(async (_url: string, _init?: RequestInit) => new Response(JSON.stringify(body), { status }));

test("an operation about one run is a resource, others are posted", () => {
  expect(requestOf("idle", { run: "a/b", limit: 5 })).toEqual({
    url: "/api/v1/runs/a%2Fb/idle?limit=5",
    method: "GET",
  });
  expect(requestOf("query", { args: ["a", "SELECT 1"] })).toEqual({
    url: "/api/v1/query",
    method: "POST",
    body: '{"args":["a","SELECT 1"]}',
  });
});

test("lists repeat a name and undefined is left out", () => {
  expect(queryString({ tag: ["a=1", "b=&"], limit: 0, model: undefined })).toBe("?tag=a%3D1&tag=b%3D%26&limit=0");
  expect(queryString({})).toBe("");
});

test("an error document is thrown as it is, another body is described", async () => {
  const document = { detail: "no such run", title: "Not Found", code: "not_found", hint: "use ls", status: 404 };
  vi.stubGlobal("fetch", answer(404, document));
  const thrown = await new Client().call("idle", { run: "x" }).catch((e: unknown) => e);
  expect(thrown).toBeInstanceOf(ProblemError);
  expect((thrown as ProblemError).problem).toMatchObject({ status: 404, detail: "no such run", hint: "use ls" });
  expect(problemOf(502, "Bad Gateway", "<html>").detail).toBe("the server answered 502 Bad Gateway");
});

test("a server that is gone is a problem, a cancelled request is not", async () => {
  vi.stubGlobal("fetch", async () => {
    throw new TypeError("failed");
  });
  const lost = await new Client().call("idle", { run: "x" }).catch((e: unknown) => e);
  expect((lost as ProblemError).problem).toBe(UNREACHABLE);
  const stop = new AbortController();
  stop.abort();
  const stopped = await new Client().call("idle", { run: "x" }, stop.signal).catch((e: unknown) => e);
  expect(stopped).not.toBeInstanceOf(ProblemError);
});

test("replies about a run are kept until they are forgotten", async () => {
  const fetched = answer(200, { run_id: "x" });
  vi.stubGlobal("fetch", fetched);
  const client = new Client();
  await client.call("idle", { run: "x" });
  await client.call("idle", { run: "x" });
  expect(fetched).toHaveBeenCalledTimes(1);
  client.forget("y");
  await client.call("idle", { run: "x" });
  expect(fetched).toHaveBeenCalledTimes(1);
  client.forget("x");
  await client.call("idle", { run: "x" });
  expect(fetched).toHaveBeenCalledTimes(2);
});

test("401 asks for a login", async () => {
  vi.stubGlobal("fetch", answer(401, { detail: "log in" }));
  const client = new Client();
  client.onLoginNeeded = vi.fn();
  await client.call("idle", { run: "x" }).catch(() => {});
  expect(client.onLoginNeeded).toHaveBeenCalled();
});
