// SPDX-License-Identifier: Apache-2.0
// The queue with its progress, the pairs of the benchmark suites with what was measured last, and the history of results.
// The server only reads: entries are added and benchmarks run at the command line.
import { useEffect } from "preact/hooks";
import type { KeptResult, KeptTarget, QueueEntriesReply, QueueEntry } from "../../data/generated";
import { bytes, count, cut, ms, plural } from "../../widgets/format";
import { SortTable } from "../../widgets/table";
import { useField } from "../navigation";
import { address, runAddress } from "../route";
import { Sparkline } from "../runs/sparkline";
import { client, useLoad } from "../session";
import { Called, EmptyNote, Loaded } from "../states";
import { expectedOf, historyOf, lookAgainMs, progressText, speedupText, timesText, titleOf } from "./bench_rows";
import "./bench.css";

const MOST_ENTRIES = 200;
const MOST_RESULTS = 200;
const OUTPUT_BYTES = 16_384;

const timeText = (rfc3339: string | null): string => (rfc3339 ?? "–").slice(0, 16).replace("T", " ");

const Outcome = ({ of }: { of: string }) => <b class={`pill ${of}`}>{of}</b>;

// Asks again by itself: the queue has no events.
function useQueue(entry: string) {
  const params = { limit: MOST_ENTRIES };
  const list = useLoad("queue", (signal) => client.fresh("queue-entries", params, signal));
  const shown = useLoad(`queue entry ${entry}`, async (signal) =>
    entry ? client.fresh("queue-entries", { entry, output_bytes: OUTPUT_BYTES }, signal) : null,
  );
  const [now, again] = list;
  const [, shownAgain] = shown;
  const wait_ms = now.state === "loaded" ? lookAgainMs(now.reply.states, now.reply.runner) : 5000;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the next look follows the last reply
  useEffect(() => {
    const timer = setTimeout(() => {
      if (document.visibilityState === "hidden") return;
      again(true);
      if (entry) shownAgain(true);
    }, wait_ms);
    return () => clearTimeout(timer);
  }, [now]);
  useEffect(() => {
    const onVisible = () => {
      if (document.visibilityState === "visible") again(true);
    };
    document.addEventListener("visibilitychange", onVisible);
    return () => document.removeEventListener("visibilitychange", onVisible);
  });
  return { list, shown };
}

function Runner({ queue }: { queue: QueueEntriesReply }) {
  const { runner } = queue;
  if (!runner)
    return (
      <p class="note">
        No runner works on this queue{(queue.states.queued ?? 0) > 0 && ", and entries wait"}:{" "}
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
                  Attempt {reply.output_attempt}, the end of {bytes(reply.output_bytes ?? 0)}
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
  return (
    <Called name="bench-pairs" params={{}} what="the pairs">
      {(reply) => (
        <>
          {reply.problems.map((p, i) => (
            <p class="loss bad" key={i}>
              {cut(`${p.file}: ${p.text}`, 300)}
            </p>
          ))}
          {reply.pairs.length === 0 ? (
            <p class="note">{cut(reply.reason ?? "The suites have no pairs.", 300)}</p>
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
                { key: "hardware", label: "Hardware", text: true, value: (p) => p.last?.hardware ?? "" },
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
    </Called>
  );
}

interface HistoryRow {
  result: KeptResult;
  found: KeptTarget;
}

function History() {
  const [target] = useField("target");
  const params = target ? { target, limit: MOST_RESULTS } : { limit: MOST_RESULTS };
  const from = useLoad(`bench results ${target}`, (signal) => client.fresh("bench-results", params, signal));
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
                  <code>neurolens bench run</code> and <code>neurolens prove</code> keep theirs in the store.
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
