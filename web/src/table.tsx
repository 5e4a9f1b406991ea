// SPDX-License-Identifier: Apache-2.0
// A table sorted by a click on a heading, filtered by text, with the first rows shown until asked for more.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { onFocusRow } from "./focus";
import { count, cut } from "./format";

export interface Column<Row> {
  key: string; label: string; text?: boolean;
  value: (row: Row) => number | string | null | undefined;
  show?: (row: Row) => ComponentChildren;
  title?: string;
}
interface Props<Row> {
  id: string; rows: Row[]; columns: Column<Row>[]; sort: string; total?: number; // sort: a key, or "" for the order of `rows`
  names?: (row: Row) => string[]; // by which other parts of the page point at this row
  detail?: (row: Row) => string | null; // shown below the row when it is opened
  filter?: boolean;
}
const FIRST = 15;
const NAME = 120; // characters of a name that a cell shows; the rest opens below

function compare(a: number | string | null | undefined, b: number | string | null | undefined): number {
  if (a == null || b == null) return a == null ? (b == null ? 0 : -1) : 1;
  if (typeof a === "string" || typeof b === "string") return String(a).localeCompare(String(b));
  return a - b;
}

export function SortTable<Row>({ id, rows, columns, sort, total, names, detail, filter }: Props<Row>) {
  const [order, setOrder] = useState({ key: sort, down: true });
  const [all, setAll] = useState(false);
  const [words, setWords] = useState("");
  const [open, setOpen] = useState<Row | null>(null);
  const [marked, setMarked] = useState<Row | null>(null);
  const box = useRef<HTMLDivElement>(null);

  const sorted = useMemo(() => {
    const column = columns.find((c) => c.key === order.key);
    const wanted = words.trim().toLowerCase();
    const kept = wanted
      ? rows.filter((row) => columns.some((c) => c.text && String(c.value(row) ?? "").toLowerCase().includes(wanted)))
      : rows.slice();
    const sign = order.down ? -1 : 1;
    return !column ? kept : kept.sort((a, b) => sign * compare(column.value(a), column.value(b)));
  }, [rows, order, words]);

  useEffect(
    () =>
      onFocusRow((target) => {
        if (target.table !== id || !names) return;
        const row = rows.find((r) => names(r).includes(target.name));
        box.current?.scrollIntoView({ block: "start" });
        if (!row) return;
        setWords("");
        setAll(true);
        setMarked(row);
        requestAnimationFrame(() =>
          requestAnimationFrame(() => box.current?.querySelector("tr.marked")?.scrollIntoView({ block: "center" })));
      }),
    [rows, id],
  );

  const shown = all ? sorted : sorted.slice(0, FIRST);
  return (
    <div class="table" ref={box} id={`table-${id}`}>
      {filter && rows.length > 5 && (
        <input type="search" placeholder="Filter by name" aria-label="Filter rows" value={words}
          onInput={(e) => setWords(e.currentTarget.value)} />
      )}
      <div class="scroll">
        <table>
          <thead>
            <tr>
              {columns.map((c) => (
                <th key={c.key} class={c.text ? "" : "num"} title={c.title}
                  aria-sort={order.key === c.key ? (order.down ? "descending" : "ascending") : "none"}>
                  <button type="button"
                    onClick={() => setOrder({ key: c.key, down: order.key === c.key ? !order.down : !c.text })}>
                    {c.label}
                    <span class="arrow" aria-hidden="true">{order.key === c.key ? (order.down ? "▾" : "▴") : ""}</span>
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((row, i) => {
              const first = String(columns[0].value(row) ?? "–");
              const more = detail?.(row) ?? (first.length > NAME ? first : null);
              return [
                <tr key={i} class={row === marked ? "marked" : ""}>
                  {columns.map((c, at) => (
                    <td key={c.key} class={c.text ? "name" : "num"}>
                      {at === 0 && more
                        ? <button type="button" class="open" aria-expanded={open === row}
                            onClick={() => setOpen(open === row ? null : row)}>{c.show ? c.show(row) : cut(String(c.value(row) ?? "–"), NAME)}</button>
                        : c.show ? c.show(row) : cut(String(c.value(row) ?? "–"), NAME)}
                    </td>
                  ))}
                </tr>,
                open === row && more && (
                  <tr class="detail" key={`${i}d`}><td colSpan={columns.length}><code>{cut(more, 20000)}</code></td></tr>
                ),
              ];
            })}
          </tbody>
        </table>
      </div>
      {sorted.length > FIRST && (
        <button type="button" class="more" onClick={() => setAll(!all)}>
          {all ? `Show the first ${FIRST}` : `Show all ${count(sorted.length)}`}
        </button>
      )}
      {total !== undefined && total > rows.length && (
        <p class="note">{count(rows.length)} of {count(total)} rows are in this page; the command line has all.</p>
      )}
    </div>
  );
}
