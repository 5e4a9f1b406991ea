// SPDX-License-Identifier: Apache-2.0
// The address of a view: path and fields. Every state that is worth sharing is in it.

export type ViewName =
  | "runs"
  | "run"
  | "compare"
  | "trends"
  | "sql"
  | "bench"
  | "live"
  | "system"
  | "login"
  | "missing";

export interface Route {
  view: ViewName;
  run: string; // id of the run view, else ""
  tab: string; // of the run view, else ""
  fields: URLSearchParams;
}

export const RUN_TABS = [
  "overview",
  "timeline",
  "operators",
  "kernels",
  "flame",
  "roofline",
  "stages",
  "idle",
  "memory",
  "ranks",
  "counters",
  "sql",
  "files",
] as const;
export type RunTab = (typeof RUN_TABS)[number];

const PLAIN_VIEWS = new Set<string>(["compare", "trends", "sql", "bench", "live", "system", "login"]);

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function parseRoute(path: string, search: string): Route {
  const fields = new URLSearchParams(search);
  const parts = path.split("/").filter(Boolean).map(decoded);
  const route = (view: ViewName, run = "", tab = ""): Route => ({ view, run, tab, fields });
  const [first, id, tab = "overview"] = parts;
  if (first === undefined) return route("runs");
  if (parts.length === 1 && PLAIN_VIEWS.has(first)) return route(first as ViewName);
  if (first !== "runs" || parts.length > 3) return route("missing");
  if (id === undefined) return route("runs");
  return (RUN_TABS as readonly string[]).includes(tab) ? route("run", id, tab) : route("missing");
}

type FieldValues = Record<string, string | number | null | undefined>;

// Fields without a value are left out, so that the plain view has a plain address.
export function address(path: string, fields: FieldValues = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(fields))
    if (value !== null && value !== undefined && value !== "") search.set(name, String(value));
  const text = search.toString();
  return text ? `${path}?${text}` : path;
}

export const runAddress = (id: string, tab: RunTab = "overview", fields: FieldValues = {}): string =>
  address(`/runs/${encodeURIComponent(id)}${tab === "overview" ? "" : `/${tab}`}`, fields);

export const compareAddress = (a: string[], b: string[], fields: FieldValues = {}): string =>
  address("/compare", { a: a.join(","), b: b.join(","), ...fields });

// The fields with some of them changed; an empty value takes one away.
export function changedFields(fields: URLSearchParams, changes: FieldValues): string {
  const out = new URLSearchParams(fields);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === undefined || value === "") out.delete(name);
    else out.set(name, String(value));
  }
  const text = out.toString();
  return text ? `?${text}` : "";
}
