// SPDX-License-Identifier: Apache-2.0
// What a search found, as tables: the names with their counts, and the events in order of time, a page at a time.
import { useState } from "preact/hooks";
import type { TimelineFindReply, TimelineFindSpan, TimelineLane } from "../../data/generated";
import { count, cut, ms, plain, plural } from "../../widgets/format";
import { SortTable } from "../../widgets/table";
import { runAddress } from "../route";
import { client, useLoad } from "../session";
import { EmptyNote, Loaded } from "../states";

interface Props {
  run: string;
  find: string;
  from_ns: number; // start of the window when the panel was opened: the first page begins there
  lanes: TimelineLane[];
  onGo: (event: TimelineFindSpan) => void;
  onClose: () => void;
}

const PAGE = 50;

/** The page that begins with the first match at `from_ns` or after it; near the end, the last page. */
export function pageOf(reply: Pick<TimelineFindReply, "next" | "previous">): TimelineFindSpan[] {
  const missing = PAGE - reply.next.length;
  const before = missing > 0 ? reply.previous.slice(0, missing).reverse() : [];
  return [...before, ...reply.next].slice(0, PAGE);
}

// Where the next page begins: with the last row of this one, so that events of the same start are not skipped.
const laterThan = (last_ns: number, at_ns: number): number => (last_ns > at_ns ? last_ns : last_ns + 1);

function Names({ run, reply }: { run: string; reply: TimelineFindReply }) {
  return (
    <SortTable
      id="find-names"
      rows={reply.names}
      sort="count"
      filter
      total={reply.names_total}
      columns={[
        {
          key: "name",
          label: "Name",
          text: true,
          value: (n) => n.name,
          show: (n) => (
            <a href={runAddress(run, "timeline", { find: cut(n.name, 200), matches: "list" })}>{cut(n.name, 100)}</a>
          ),
        },
        { key: "table", label: "Kind", text: true, value: (n) => plain(n.table) },
        { key: "count", label: "Events", value: (n) => n.count, show: (n) => count(n.count) },
      ]}
    />
  );
}

function Matches({ rows, lanes, onGo }: { rows: TimelineFindSpan[] } & Pick<Props, "lanes" | "onGo">) {
  const laneName = (id: number) => lanes.find((l) => l.id === id)?.name ?? "";
  return (
    <SortTable
      id="find-matches"
      rows={rows}
      sort=""
      columns={[
        {
          key: "start",
          label: "Start",
          value: (s) => s.start_ns,
          show: (s) => (
            <button type="button" class="link" onClick={() => onGo(s)}>
              {ms(s.start_ns / 1e6)}
            </button>
          ),
        },
        { key: "dur", label: "Duration", value: (s) => s.dur_ns, show: (s) => ms(s.dur_ns / 1e6) },
        { key: "name", label: "Name", text: true, value: (s) => s.name },
        { key: "table", label: "Kind", text: true, value: (s) => plain(s.table) },
        { key: "lane", label: "Lane", text: true, value: (s) => cut(laneName(s.lane), 60) },
      ]}
    />
  );
}

export function FindPanel({ run, find, from_ns, lanes, onGo, onClose }: Props) {
  const [at_ns, setAt] = useState(Math.floor(from_ns));
  const from = useLoad(`matches ${run} ${find} ${at_ns}`, (signal) =>
    client.call("timeline-find", { run, text: find, from_ns: at_ns, limit: PAGE }, signal),
  );
  return (
    <section id="matches">
      <div class="title">
        <h2>Matches of “{cut(find, 60)}”</h2>
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
      <Loaded what="the matches" from={from}>
        {(reply) => {
          const rows = pageOf(reply);
          const last = rows.at(-1);
          const hasEarlier = rows.length > 0 && reply.previous.some((s) => !rows.includes(s));
          const hasLater = reply.next.length === PAGE;
          if (reply.total === 0) return <EmptyNote title="No name contains this text" />;
          return (
            <>
              <p class="facts">
                <span>
                  {plural(reply.total, "event")} in {plural(reply.names_total, "name")}
                </span>
              </p>
              <Names run={run} reply={reply} />
              <Matches rows={rows} lanes={lanes} onGo={onGo} />
              <p class="bar">
                <button
                  type="button"
                  disabled={!hasEarlier}
                  onClick={() => setAt(reply.previous.at(-1)?.start_ns ?? 0)}
                >
                  Earlier
                </button>
                <button
                  type="button"
                  disabled={!hasLater}
                  onClick={() => last && setAt(laterThan(last.start_ns, at_ns))}
                >
                  Later
                </button>
              </p>
            </>
          );
        }}
      </Loaded>
    </section>
  );
}
