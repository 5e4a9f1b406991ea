// SPDX-License-Identifier: Apache-2.0
// The queue with its progress, the pairs of the benchmark suites with what was measured last, and the history of results.
// The server only reads: entries are added and benchmarks run at the command line. Its events keep the view current.
import { useEffect, useRef } from "preact/hooks";
import type { KeptResult, KeptTarget, QueueEntriesReply, QueueEntry } from "../../data/generated";
import { bytes, capitalised, count, cut, ms, plural } from "../../widgets/format";
import { SortTable } from "../../widgets/table";
import { useField } from "../navigation";
import { address, runAddress } from "../route";
import { Sparkline } from "../runs/sparkline";
import { benchResults, client, connection, queueChanges, useChannel, useLoad } from "../session";
import { EmptyNote, Loaded } from "../states";
import { expectedOf, historyOf, progressText, speedupText, timesText, titleOf } from "./bench_rows";
import "./bench.css";

const MOST_ENTRIES = 200;
const MOST_RESULTS = 200;
const OUTPUT_BYTES = 16_384;

const timeText = (rfc3339: string | null): string => (rfc3339 ?? "–").slice(0, 16).replace("T", " ");

const Outcome = ({ of }: { of: string }) => <b class={`pill ${of}`}>{of}</b>;

// Loads again when the server says so, and what was missed while the page was hidden once it is seen again.
function useQueue(entry: string) {
  const list = useLoad("queue", (signal) => client.fresh("queue-entries", { limit: MOST_ENTRIES }, signal));
  const shown = useLoad(`queue entry ${entry}`, async (signal) =>
    entry ? client.fresh("queue-entries", { entry, output_bytes: OUTPUT_BYTES }, signal) : null,
  );
  const isMissed = useRef(false);
  const look = () => {
    isMissed.current = document.visibilityState === "hidden";
    if (isMissed.current) return;
    list[1](true);
    if (entry) shown[1](true);
  };
  const latest = useRef(look);
  latest.current = look;
  useChannel(queueChanges, look);
  useChannel(connection, (state) => state !== "lost" && look());
  useEffect(() => {
    const onVisible = () => isMissed.current && latest.current();
    document.addEventListener("visibilitychange", onVisible);
    return () => document.removeEventListener("visibilitychange", onVisible);
  }, []);
  return { list, shown };
}

// Loads again when a result is kept.
function useResults<Reply>(key: string, load: (signal: AbortSignal) => Promise<Reply>) {
  const from = useLoad(key, load);
  useChannel(benchResults, () => from[1](true));
  useChannel(connection, (state) => state !== "lost" && from[1](true));
  return from;
}

function Runner({ queue }: { queue: QueueEntriesReply }) {
  const { runner } = queue;
  if (!runner)
    return (
      <p class="note">
        No runner is working on this queue{(queue.states.queued ?? 0) > 0 && ", and entries are waiting"}.{" "}
        <code>neurolens queue run</code> starts one.
      </p>
    );
  return (
    <div class="runner" role="status">
      <progress max={100} value={runner.percent} aria-label="Progress of the queue" />
      <span>{progressText(runner)}</span>
      {runner.gpu_problem && <p class="note">GPU work beside it is not watched: {cut(runner.gpu_problem, 200)}</p>}
    </div>
  );
}

function Entry({ entry, from }: { entry: string; from: ReturnType<typeof useQueue>["shown"] }) {
  return (
    <Loaded what="the entry" from={from}>
      {(reply) => {
        const found: QueueEntry | undefined = reply?.entries[0];
        if (!reply || !found) return null;
        return (
          <article class="entry" aria-label={`Entry ${cut(entry, 40)}`}>
            <h3>
              {titleOf(found)} <Outcome of={found.state} />
            </h3>
            {found.reason && <p>{cut(found.reason, 300)}</p>}
            {found.run_ids.length > 0 && (
              <p>
                Runs:{" "}
                {found.run_ids.map((id) => (
                  <a key={id} href={runAddress(id)}>
                    {id.slice(0, 13)}{" "}
                  </a>
                ))}
              </p>
            )}
            {reply.output === null ? (
              <p class="note">It has not written anything yet.</p>
            ) : (
              <>
                <pre
                  class="output"
                  // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must take the keyboard
                  tabIndex={0}
                >
                  {reply.output}
                </pre>
                <p class="note">
                  Attempt {reply.output_attempt},{" "}
                  {(reply.output_bytes ?? 0) > OUTPUT_BYTES && `the last ${bytes(OUTPUT_BYTES)} of `}
                  {bytes(reply.output_bytes ?? 0)}
                </p>
              </>
            )}
            <a href={address("/bench")}>Close</a>
          </article>
        );
      }}
    </Loaded>
  );
}

function QueuePart() {
  const [entry] = useField("entry");
  const { list, shown } = useQueue(entry);
  return (
    <section id="queue">
      <h2>Queue</h2>
      <Loaded what="the queue" from={list}>
        {(queue) => (
          <>
            <Runner queue={queue} />
            {queue.entries_total === 0 ? (
              <p class="note">
                The queue is empty: <code>neurolens queue add -- COMMAND</code> adds an entry.
              </p>
            ) : (
              <>
                <p class="facts">
                  {Object.entries(queue.states)
                    .filter(([, n]) => n > 0)
                    .map(([state, n]) => (
                      <span key={state}>
                        {count(n)} {state}
                      </span>
                    ))}
                </p>
                <SortTable
                  id="entries"
                  rows={queue.entries}
                  sort=""
                  filter
                  total={queue.entries_total}
                  columns={[
                    {
                      key: "title",
                      label: "Entry",
                      text: true,
                      value: titleOf,
                      show: (e) => <a href={address("/bench", { entry: e.entry_id })}>{titleOf(e)}</a>,
                    },
                    {
                      key: "state",
                      label: "State",
                      text: true,
                      value: (e) => e.state,
                      show: (e) => <Outcome of={e.state} />,
                    },
                    { key: "attempts", label: "Attempts", value: (e) => e.attempts },
                    { key: "started", label: "Started (UTC)", text: true, value: (e) => timeText(e.started_at) },
                    {
                      key: "duration",
                      label: "Duration",
                      value: (e) => e.duration_ms,
                      show: (e) => (e.duration_ms === null ? "–" : ms(e.duration_ms)),
                    },
                    { key: "exit", label: "Exit", value: (e) => e.exit_status },
                    { key: "reason", label: "Reason", text: true, value: (e) => e.reason ?? "" },
                  ]}
                />
              </>
            )}
          </>
        )}
      </Loaded>
      {entry && <Entry entry={entry} from={shown} />}
    </section>
  );
}

function Pairs() {
  const from = useResults("bench pairs", (signal) => client.fresh("bench-pairs", {}, signal));
  return (
    <Loaded what="the pairs" from={from}>
      {(reply) => (
        <>
          {reply.problems.map((p, i) => (
            <p class="loss bad" key={i}>
              {cut(`${p.file}: ${p.text}`, 300)}
            </p>
          ))}
          {reply.pairs.length === 0 ? (
            <p class="note">{capitalised(cut(reply.reason ?? "the suites have no pairs", 300))}.</p>
          ) : (
            <SortTable
              id="pairs"
              rows={reply.pairs}
              sort=""
              filter
              columns={[
                {
                  key: "target",
                  label: "Pair",
                  text: true,
                  value: (p) => p.target,
                  show: (p) => <a href={address("/bench", { target: p.target })}>{cut(p.target, 80)}</a>,
                },
                {
                  key: "outcome",
                  label: "Last result",
                  text: true,
                  value: (p) => p.last?.found.outcome ?? "",
                  show: (p) => (p.last ? <Outcome of={p.last.found.outcome} /> : "not measured"),
                },
                {
                  key: "speedup",
                  label: "Speedup",
                  value: (p) => p.last?.found.speedup ?? null,
                  show: (p) => (p.last ? speedupText(p.last.found) : "–"),
                },
                {
                  key: "expected",
                  label: "Expected",
                  value: (p) => expectedOf(p)?.speedup ?? null,
                  show: (p) => {
                    const expected = expectedOf(p);
                    return expected ? speedupText(expected) : "–";
                  },
                },
                {
                  key: "times",
                  label: "Baseline → optimized",
                  text: true,
                  value: (p) => p.last?.found.baseline_ms ?? null,
                  show: (p) => (p.last ? timesText(p.last.found) : "–"),
                },
                { key: "hardware", label: "Hardware", text: true, value: (p) => p.last?.hardware ?? "–" },
                {
                  key: "when",
                  label: "Measured (UTC)",
                  text: true,
                  value: (p) => timeText(p.last?.created_at ?? null),
                },
              ]}
            />
          )}
        </>
      )}
    </Loaded>
  );
}

interface HistoryRow {
  result: KeptResult;
  found: KeptTarget;
}

function History() {
  const [target] = useField("target");
  const params = target ? { target, limit: MOST_RESULTS } : { limit: MOST_RESULTS };
  const from = useResults(`bench results ${target}`, (signal) => client.fresh("bench-results", params, signal));
  return (
    <section id="history">
      <h2>History{target && ` of ${cut(target, 80)}`}</h2>
      {target && (
        <p>
          <a href="/bench">All results</a>
        </p>
      )}
      <Loaded what="the results" from={from}>
        {(reply) => {
          const rows = reply.results.flatMap((result): HistoryRow[] =>
            result.targets.map((found) => ({ result, found })),
          );
          if (rows.length === 0)
            return (
              <EmptyNote title="No results yet">
                <p>
                  Results of <code>neurolens bench run</code> and <code>neurolens prove</code> are kept in the store.
                </p>
              </EmptyNote>
            );
          const points = target ? historyOf(reply.results, target).map((p) => p.speedup) : [];
          return (
            <>
              {points.length > 1 && (
                <p class="bar">
                  <Sparkline values={points} label={`Speedup of ${cut(target, 60)} over ${points.length} results`} />
                  <span class="muted">speedup over {plural(points.length, "result")}</span>
                </p>
              )}
              <SortTable
                id="results"
                rows={rows}
                sort=""
                filter
                columns={[
                  { key: "when", label: "Measured (UTC)", text: true, value: (r) => timeText(r.result.created_at) },
                  { key: "kind", label: "By", text: true, value: (r) => r.result.kind },
                  { key: "what", label: "What", text: true, value: (r) => r.found.target || r.result.title },
                  {
                    key: "outcome",
                    label: "Outcome",
                    text: true,
                    value: (r) => r.found.outcome,
                    show: (r) => <Outcome of={r.found.outcome} />,
                  },
                  {
                    key: "speedup",
                    label: "Speedup",
                    value: (r) => r.found.speedup,
                    show: (r) => speedupText(r.found),
                  },
                  { key: "times", label: "Times", text: true, value: (r) => timesText(r.found) },
                  { key: "hardware", label: "Hardware", text: true, value: (r) => r.result.hardware ?? "" },
                ]}
              />
              {reply.next_offset !== null && (
                <p class="note">
                  The newest {count(reply.results.length)} of {plural(reply.results_total, "result")};{" "}
                  <code>neurolens bench-results</code> lists all.
                </p>
              )}
            </>
          );
        }}
      </Loaded>
    </section>
  );
}

export function BenchView() {
  useEffect(() => {
    document.title = "Bench – NeuroLens";
  }, []);
  return (
    <>
      <div class="title">
        <h1>Bench</h1>
      </div>
      <QueuePart />
      <section id="pairs">
        <h2>Pairs</h2>
        <Pairs />
      </section>
      <History />
    </>
  );
}
