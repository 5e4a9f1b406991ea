// SPDX-License-Identifier: Apache-2.0
// What all views share: the client, the events of the server, and short messages to the reader.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Name, Params, ProblemDocument, ReplyTo } from "../data/client";
import { Client, ProblemError } from "../data/client";
import type { ImportProgress, OperationProgress } from "../data/events";
import { listen } from "../data/events";
import type { KeptResult, ListedRun, LiveRow, QueueEntriesReply } from "../data/generated";
import { goTo } from "./navigation";

export const client = new Client();

type Listener<T> = (value: T) => void;

class Channel<T> {
  private readonly listeners = new Set<Listener<T>>();
  send(value: T): void {
    for (const listener of this.listeners) listener(value);
  }
  on(listener: Listener<T>): () => void {
    this.listeners.add(listener);
    return () => {
      this.listeners.delete(listener);
    };
  }
}

export interface Notice {
  text: string;
  kind: "good" | "bad";
}

export const newRuns = new Channel<ListedRun>();
export const imports = new Channel<ImportProgress>();
export const preparing = new Channel<OperationProgress>();
export const recordings = new Channel<LiveRow>();
export const queueChanges = new Channel<QueueEntriesReply>();
export const benchResults = new Channel<KeptResult>();
export const connection = new Channel<"open" | "lost" | "reconnected">();
export const notices = new Channel<Notice>();

export function startSession(): void {
  client.onLoginNeeded = () => {
    if (location.pathname !== "/login") goTo(`/login?to=${encodeURIComponent(location.pathname + location.search)}`);
  };
  listen({
    onRun: (run) => {
      client.forget(run.run_id);
      newRuns.send(run);
    },
    onImport: (progress) => imports.send(progress),
    onProgress: (progress) => preparing.send(progress),
    onLive: (recording) => recordings.send(recording),
    onQueue: (queue) => queueChanges.send(queue),
    onBenchResult: (result) => benchResults.send(result),
    onConnection: (state) => {
      // A server that was away may come back with another store.
      if (state === "reconnected") {
        client.forget();
        notices.send({ kind: "good", text: "Server restarted: reconnected." });
      }
      connection.send(state);
    },
  });
}

export function useChannel<T>(channel: Channel<T>, listener: Listener<T>): void {
  const latest = useRef(listener);
  latest.current = listener;
  useEffect(() => channel.on((value) => latest.current(value)), [channel]);
}

export type Reload = (quietly?: boolean) => void;

export type Loading<Reply> =
  | { state: "loading"; since: number }
  | { state: "failed"; problem: ProblemDocument }
  | { state: "loaded"; reply: Reply };

export function problemFrom(error: unknown): ProblemDocument {
  if (error instanceof ProblemError) return error.problem;
  const detail = error instanceof Error ? error.message : String(error);
  return { status: 0, title: "Error of this page", detail, code: "page", hint: "Load the page again." };
}

// Runs `load` again when a key changes, when asked to, and when the server came back after the last load failed.
export function useLoad<Reply>(
  key: string,
  load: (signal: AbortSignal) => Promise<Reply>,
  kept?: () => Reply | undefined,
): [Loading<Reply>, Reload] {
  const first = (): Loading<Reply> => {
    const reply = kept?.();
    return reply === undefined ? { state: "loading", since: performance.now() } : { state: "loaded", reply };
  };
  const [shown, setShown] = useState<{ key: string; now: Loading<Reply> }>(() => ({ key, now: first() }));
  const [round, setRound] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  // biome-ignore lint/correctness/useExhaustiveDependencies: `round` asks for another load of the same key
  useEffect(() => {
    const stop = new AbortController();
    latest.current(stop.signal).then(
      (reply) => {
        if (!stop.signal.aborted) setShown({ key, now: { state: "loaded", reply } });
      },
      (error) => {
        if (!stop.signal.aborted) setShown({ key, now: { state: "failed", problem: problemFrom(error) } });
      },
    );
    return () => stop.abort();
  }, [key, round]);
  const now = shown.key === key ? shown.now : first();
  useChannel(connection, (state) => {
    if (state === "reconnected" && now.state === "failed") setRound((r) => r + 1);
  });
  // `quietly` keeps what is shown until the new reply is there.
  const again = (quietly = false) => {
    if (!quietly) setShown({ key, now: { state: "loading", since: performance.now() } });
    setRound((r) => r + 1);
  };
  return [now, again];
}

export function useCall<N extends Name>(name: N, params: Params<N>): [Loading<ReplyTo<N>>, Reload] {
  return useLoad(
    `${name} ${JSON.stringify(params)}`,
    (signal) => client.call(name, params, signal),
    () => client.held(name, params),
  );
}
