// SPDX-License-Identifier: Apache-2.0
// Runs from the server as views need them: the pages of a list that are in sight, and runs by their ids.
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ProblemDocument } from "../../data/client";
import { queryString } from "../../data/client";
import type { ListedRun, LsReply } from "../../data/generated";
import { client, problemFrom, useLoad } from "../session";
import { PAGE_RUNS, pagesOf, RunPages, workloadOf } from "./run_list";

const askForRuns = (fields: object, signal: AbortSignal): Promise<LsReply> =>
  client.json<LsReply>(`/api/v1/runs${queryString(fields)}`, { signal });

// Lists to choose a run from show the newest ones.
export const useNewestRuns = (count: number) =>
  useLoad(`newest runs ${count}`, (signal) => askForRuns({ limit: count }, signal));

export const useRunChoices = () =>
  useLoad("choices of runs", (signal) => askForRuns({ limit: 1, choices: true }, signal));

export interface RunList {
  rows: RunPages | null; // null: nothing came yet
  problem: ProblemDocument | null; // of the last request
  isAsking: boolean; // for something in sight
  histories: ReadonlyMap<string, number[]>; // wall times by workload
  onWindow: (first: number, last: number) => void; // the rows in sight
  again: () => void; // asks for what is in sight anew
}

// The list that `fields` describe. What was there before stays until the first page of the new list came.
export function useRunList(fields: Record<string, string>): RunList {
  const list = JSON.stringify(fields);
  const [rows, setRows] = useState<RunPages | null>(null);
  const [problem, setProblem] = useState<ProblemDocument | null>(null);
  const [asking, setAsking] = useState(0);
  const [round, setRound] = useState(0);
  const histories = useRef(new Map<string, number[]>()).current;
  const now = useRef({ rows, sight: { first: 0, last: 1 }, pending: new Map<number, AbortController>() });
  now.current.rows = rows;

  const ask = (page: number) => {
    const { pending } = now.current;
    const stop = new AbortController();
    pending.set(page, stop);
    setAsking(pending.size);
    // At once with the rows: another step would draw the list a second time.
    const ended = () => {
      if (pending.get(page) === stop) pending.delete(page);
      setAsking(pending.size);
    };
    askForRuns({ ...fields, limit: PAGE_RUNS, offset: page * PAGE_RUNS }, stop.signal).then(
      (reply) => {
        ended();
        if (stop.signal.aborted) return;
        for (const h of reply.histories ?? []) histories.set(workloadOf(h), h.wall_ns);
        setProblem(null);
        setRows((before) => RunPages.with(before, list, round, page, reply));
      },
      (error) => {
        ended();
        if (!stop.signal.aborted) setProblem(problemFrom(error));
      },
    );
  };
  const askForSight = () => {
    const { rows: held, sight, pending } = now.current;
    for (const page of pagesOf(sight.first, sight.last))
      if (!pending.has(page) && !(held?.isCurrent(list, round) && held.hasPage(page))) ask(page);
  };
  // Before the browser paints: what is asked for does not depend on it.
  // biome-ignore lint/correctness/useExhaustiveDependencies: `list` and `round` say what is asked for
  useLayoutEffect(() => {
    const { pending } = now.current;
    askForSight();
    return () => {
      for (const stop of pending.values()) stop.abort();
      pending.clear();
    };
  }, [list, round]);
  return {
    rows,
    problem,
    isAsking: asking > 0 || !(problem || rows?.isCurrent(list, round)),
    histories,
    onWindow: (first, last) => {
      now.current.sight = { first, last: Math.max(first + 1, last) };
      askForSight();
    },
    again: () => setRound((n) => n + 1),
  };
}

// The runs with these ids, those that are not among `known` from the server; one that was deleted is left out.
export function useRunsById(ids: string[], known: ReadonlyMap<string, ListedRun>): Map<string, ListedRun> {
  const missing = ids.filter((id) => !known.has(id));
  const [loaded] = useLoad(`runs ${missing.join()}`, (signal) =>
    Promise.all(missing.map((id) => askForRuns({ text: id, limit: 1 }, signal))),
  );
  return useMemo(() => {
    const out = new Map<string, ListedRun>();
    const found = loaded.state === "loaded" ? loaded.reply.flatMap((reply) => reply.runs) : [];
    for (const id of ids) {
      const run = known.get(id) ?? found.find((r) => r.run_id.startsWith(id));
      if (run) out.set(id, run);
    }
    return out;
  }, [ids, known, loaded]);
}
