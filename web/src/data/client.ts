// SPDX-License-Identifier: Apache-2.0
// The client of the HTTP API: typed calls of operations, which can be cancelled, and errors as the server describes them.
// It needs no package and no page: api.ts, generated.ts and this file work in any program that has fetch.
import type { Operations } from "./api";
import { OPERATIONS } from "./api";

/** An error document of the server (RFC 9457), or what stood in the way of reaching it. */
export interface ProblemDocument {
  status: number; // 0: the server did not answer
  title: string;
  detail: string;
  code: string;
  hint: string | null;
}

export class ProblemError extends Error {
  readonly problem: ProblemDocument;
  constructor(problem: ProblemDocument) {
    super(problem.detail);
    this.name = "ProblemError";
    this.problem = problem;
  }
}

export type Name = keyof Operations;
export type Params<N extends Name> = Operations[N]["params"];
export type ReplyTo<N extends Name> = Operations[N]["reply"];

const API = "/api/v1";
const KEPT_REPLIES = 60;

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** The error that a response stands for, whatever its body is. */
export function problemOf(status: number, statusText: string, body: string): ProblemDocument {
  try {
    const given = JSON.parse(body) as Record<string, unknown>;
    if (typeof given.detail === "string")
      return {
        status,
        title: textOf(given.title),
        detail: given.detail,
        code: textOf(given.code),
        hint: textOf(given.hint) || null,
      };
  } catch {
    // A proxy may answer with a page of its own.
  }
  return { status, title: statusText, detail: `the server answered ${status} ${statusText}`, code: "http", hint: null };
}

export const UNREACHABLE: ProblemDocument = {
  status: 0,
  title: "No connection",
  detail: "the server does not answer",
  code: "unreachable",
  hint: "Check that neurolens serve is running. This page reconnects by itself.",
};

/** Lists repeat a name; what is undefined is left out. */
export function queryString(params: object): string {
  const out = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value === undefined || value === null) continue;
    for (const one of Array.isArray(value) ? value : [value]) out.append(name, String(one));
  }
  const text = out.toString();
  return text ? `?${text}` : "";
}

interface Asked {
  url: string;
  method: "GET" | "POST";
  body?: string;
}

/** The request of an operation. One about a single run is a resource, so that its reply has an ETag and can be kept. */
export function requestOf(name: Name, params: object): Asked {
  const { reads, run } = OPERATIONS[name];
  const { [run ?? ""]: id, ...others } = params as Record<string, unknown>;
  if (reads && run && typeof id === "string")
    return { url: `${API}/runs/${encodeURIComponent(id)}/${name}${queryString(others)}`, method: "GET" };
  return { url: `${API}/${name}`, method: "POST", body: JSON.stringify(params) };
}

export class Client {
  /** Called with 401: nobody is logged in. */
  onLoginNeeded: () => void = () => {};
  private readonly kept = new Map<string, unknown>();
  private readonly base: string;

  constructor(base = "") {
    this.base = base;
  }

  /** Any response below 400; other ones throw a ProblemError. */
  async fetch(url: string, init: RequestInit = {}): Promise<Response> {
    let response: Response;
    try {
      response = await fetch(this.base + url, { credentials: "same-origin", ...init });
    } catch (error) {
      if (init.signal?.aborted) throw error;
      throw new ProblemError(UNREACHABLE);
    }
    if (response.ok) return response;
    if (response.status === 401) this.onLoginNeeded();
    throw new ProblemError(problemOf(response.status, response.statusText, await response.text()));
  }

  async json<Reply>(url: string, init?: RequestInit): Promise<Reply> {
    return (await this.fetch(url, init)).json() as Promise<Reply>;
  }

  /** Runs an operation. Replies about one run are kept until forget(). */
  async call<N extends Name>(name: N, params: Params<N>, signal?: AbortSignal): Promise<ReplyTo<N>> {
    const asked = requestOf(name, params);
    const held = this.held(name, params);
    if (held !== undefined) return held;
    const reply = await this.json<ReplyTo<N>>(asked.url, {
      method: asked.method,
      signal,
      body: asked.body,
      headers: asked.body === undefined ? undefined : { "Content-Type": "application/json" },
    });
    if (asked.method === "GET") this.keep(asked.url, reply);
    return reply;
  }

  /** The reply that is kept for a call, if any. */
  held<N extends Name>(name: N, params: Params<N>): ReplyTo<N> | undefined {
    const asked = requestOf(name, params);
    return asked.method === "GET" ? (this.kept.get(asked.url) as ReplyTo<N> | undefined) : undefined;
  }

  /** Runs an operation again whose reply changes with time. */
  fresh<N extends Name>(name: N, params: Params<N>, signal?: AbortSignal): Promise<ReplyTo<N>> {
    this.kept.delete(requestOf(name, params).url);
    return this.call(name, params, signal);
  }

  /** Forgets the replies about a run whose id begins so, or all of them. */
  forget(run?: string): void {
    for (const url of [...this.kept.keys()])
      if (run === undefined || url.startsWith(`${API}/runs/${encodeURIComponent(run)}`)) this.kept.delete(url);
  }

  private keep(url: string, reply: unknown): void {
    this.kept.set(url, reply);
    const oldest = this.kept.keys().next().value;
    if (this.kept.size > KEPT_REPLIES && oldest !== undefined) this.kept.delete(oldest);
  }
}
