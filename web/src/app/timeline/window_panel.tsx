// SPDX-License-Identifier: Apache-2.0
// The sums of the chosen window over all events in it: by kind, by lane and by name.
import { useMemo, useState } from "preact/hooks";
import type { TimelineNameTotals, TimelineTotalsReply } from "../../data/generated";
import { count, cut, ms, pct, plain, plural } from "../../widgets/format";
import type { SortOrder } from "../../widgets/sort_rows";
import { sortRows } from "../../widgets/sort_rows";
import type { GridColumn } from "../grid";
import { Grid } from "../grid";
import { runAddress } from "../route";
import { Called, EmptyNote } from "../states";

interface Props {
  run: string;
  from_ns: number;
  to_ns: number;
  onClose: () => void;
}

const time = (ns: number): string => ms(ns / 1e6);

interface SumsProps {
  about: string; // what a row is
  heads: string[];
  rows: [name: string, ...values: string[]][];
}

function Sums({ about, heads, rows }: SumsProps) {
  return (
    <table class="factlist sums" aria-label={`Sums by ${about.toLowerCase()}`}>
      <thead>
        <tr>
          {[about, ...heads].map((head) => (
            <th key={head} scope="col">
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(([name, ...values], i) => (
          <tr key={i}>
            <th scope="row">{name}</th>
            {values.map((value, column) => (
              <td key={heads[column]} class="num" data-head={heads[column]}>
                {value}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const Kinds = ({ reply }: { reply: TimelineTotalsReply }) => (
  <Sums
    about="Kind"
    heads={["Count", "Covered", "Total", "Mean", "Longest"]}
    rows={reply.tables.map((t) => [
      plain(t.table),
      count(t.count),
      ...[t.covered_ns, t.total_ns, t.mean_ns, t.longest_ns].map(time),
    ])}
  />
);

const Lanes = ({ reply }: { reply: TimelineTotalsReply }) => (
  <Sums
    about="Lane"
    heads={["Events", "Busy", "Share"]}
    rows={reply.lanes.map((l) => [cut(l.name, 60), count(l.count), time(l.covered_ns), pct(l.covered_share)])}
  />
);

function columnsOf(run: string): GridColumn<TimelineNameTotals>[] {
  const number = (key: "total_ns" | "covered_ns" | "mean_ns" | "longest_ns", label: string) => ({
    key,
    label,
    width: 96,
    value: (row: TimelineNameTotals) => row[key],
    show: (row: TimelineNameTotals) => time(row[key]),
  });
  return [
    {
      key: "name",
      label: "Name",
      text: true,
      value: (row) => row.short_name,
      title: (row) => cut(row.name, 1000),
      show: (row) => (
        <a href={runAddress(run, "timeline", { find: cut(row.name, 200) })}>{cut(row.short_name || row.name, 100)}</a>
      ),
    },
    { key: "table", label: "Kind", text: true, width: 96, value: (row) => row.table, show: (row) => plain(row.table) },
    { key: "count", label: "Count", width: 84, value: (row) => row.count, show: (row) => count(row.count) },
    number("total_ns", "Total"),
    number("covered_ns", "Covered"),
    number("mean_ns", "Mean"),
    number("longest_ns", "Longest"),
  ];
}

// A name on a phone.
const nameCard = (run: string) => (row: TimelineNameTotals) => (
  <>
    <div>
      <a href={runAddress(run, "timeline", { find: cut(row.name, 200) })}>{cut(row.short_name || row.name, 100)}</a>
      <b>{time(row.total_ns)}</b>
    </div>
    <div class="sub">
      <span>
        {plain(row.table)}, {plural(row.count, "event")}, covered {time(row.covered_ns)}
      </span>
    </div>
    <div class="sub">
      <span>
        mean {time(row.mean_ns)}, longest {time(row.longest_ns)}
      </span>
    </div>
  </>
);

function Names({ run, reply }: { run: string; reply: TimelineTotalsReply }) {
  const [order, setOrder] = useState<SortOrder>({ key: "total_ns", descending: true });
  const columns = useMemo(() => columnsOf(run), [run]);
  const rows = useMemo(() => sortRows(reply.names, columns, order), [reply, columns, order]);
  return (
    <>
      <p class="note">
        {plural(reply.names_total, "name")}. Total and Covered are cut at the edges of the window, and Covered counts
        overlaps once; Mean and Longest are of whole events.
      </p>
      <Grid
        label="Sums by name"
        rows={rows}
        columns={columns}
        rowKey={(row) => `${row.table} ${row.name}`}
        order={order}
        onOrder={setOrder}
        heightPx={420}
        card={nameCard(run)}
      />
    </>
  );
}

export function WindowPanel({ run, from_ns, to_ns, onClose }: Props) {
  const params = { run, from_ns: Math.round(from_ns), to_ns: Math.round(to_ns), limit: 0 };
  return (
    <section id="window">
      <div class="title">
        <h2>
          {time(to_ns - from_ns)} from {time(from_ns)}
        </h2>
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
      <Called name="timeline-totals" params={params} what="the sums of the window">
        {(reply) =>
          reply.tables.length === 0 ? (
            <EmptyNote title="Nothing ran in this window" />
          ) : (
            <>
              <section
                class="sumrow"
                aria-label="Sums by kind and lane"
                // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must take the keyboard
                tabIndex={0}
              >
                <Kinds reply={reply} />
                <Lanes reply={reply} />
              </section>
              <Names run={run} reply={reply} />
            </>
          )
        }
      </Called>
    </section>
  );
}
