// SPDX-License-Identifier: Apache-2.0
// A table sorted by a click on a heading and filtered by text. It shows the first rows until asked for more.
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { onFocusRow } from "./focus";
import { count, cut } from "./format";
import { useNarrow } from "./narrow";
import type { SortKey, SortOrder } from "./sort_rows";
import { filterRows, nextOrder, sortedSecond, sortRows } from "./sort_rows";
import "./table.css";

export interface Column<Row> extends SortKey<Row> {
  label: string;
  show?: (row: Row) => ComponentChildren;
  title?: string;
}

interface Props<Row> {
  id: string;
  rows: Row[];
  columns: Column<Row>[];
  sort: string; // key of a column, or "" for the order of `rows`
  total?: number; // of rows, where the document holds only some
  names?: (row: Row) => string[]; // by which other parts of the page point at this row
  detail?: (row: Row) => string | null; // shown below the row when it is opened
  filter?: boolean;
}

const FIRST_ROWS = 15;
const NAME_CHARACTERS = 120; // the rest opens below
const FILTER_FROM_ROWS = 6;

function cellText<Row>(column: Column<Row>, row: Row): ComponentChildren {
  return column.show ? column.show(row) : cut(String(column.value(row) ?? "–"), NAME_CHARACTERS);
}

interface HeadingProps<Row> {
  column: Column<Row>;
  order: SortOrder;
  onOrder: (order: SortOrder) => void;
}

function Heading<Row>({ column, order, onOrder }: HeadingProps<Row>) {
  const isSorted = order.key === column.key;
  return (
    <th
      class={column.text ? "" : "num"}
      title={column.title}
      aria-sort={isSorted ? (order.descending ? "descending" : "ascending") : "none"}
    >
      <button type="button" onClick={() => onOrder(nextOrder(order, column))}>
        {column.label}
        <span class="arrow" aria-hidden="true">
          {isSorted ? (order.descending ? "▾" : "▴") : ""}
        </span>
      </button>
    </th>
  );
}

interface RowProps<Row> {
  row: Row;
  columns: Column<Row>[];
  detail: string | null;
  isMarked: boolean;
  isOpen: boolean;
  onToggle: () => void;
}

function TableRow<Row>({ row, columns, detail, isMarked, isOpen, onToggle }: RowProps<Row>) {
  return (
    <>
      <tr class={isMarked ? "marked" : ""}>
        {columns.map((c, at) => (
          <td key={c.key} class={c.text ? "name" : "num"}>
            {at === 0 && detail !== null ? (
              <button type="button" class="open" aria-expanded={isOpen} onClick={onToggle}>
                {cellText(c, row)}
              </button>
            ) : (
              cellText(c, row)
            )}
          </td>
        ))}
      </tr>
      {isOpen && detail !== null && (
        <tr class="detail">
          <td colSpan={columns.length}>
            <code>{cut(detail, 20000)}</code>
          </td>
        </tr>
      )}
    </>
  );
}

function longName<Row>(column: Column<Row> | undefined, row: Row): string | null {
  const name = String(column?.value(row) ?? "");
  return name.length > NAME_CHARACTERS ? name : null;
}

export function SortTable<Row>({ id, rows, columns, sort, total, names, detail, filter }: Props<Row>) {
  const [order, setOrder] = useState<SortOrder>({ key: sort, descending: true });
  const isNarrow = useNarrow();
  const shownColumns = isNarrow ? sortedSecond(columns, order) : columns;
  const [all, setAll] = useState(false);
  const [words, setWords] = useState("");
  const [open, setOpen] = useState<Row | null>(null);
  const [marked, setMarked] = useState<{ row: Row } | null>(null); // a new object each time, so that it scrolls again
  const keys = useMemo(() => new Map(rows.map((row, at) => [row, at])), [rows]);
  const box = useRef<HTMLDivElement>(null);
  const sorted = useMemo(
    () => sortRows(filterRows(rows, columns, words), columns, order),
    [rows, columns, order, words],
  );

  useEffect(
    () =>
      onFocusRow((target) => {
        if (target.table !== id || !names) return;
        const row = rows.find((r) => names(r).includes(target.name));
        box.current?.scrollIntoView({ block: "start" });
        if (row === undefined) return;
        setWords("");
        setAll(true);
        setMarked({ row });
      }),
    [rows, id, names],
  );
  // After the render that shows the marked row.
  useEffect(() => {
    if (marked !== null) box.current?.querySelector("tr.marked")?.scrollIntoView({ block: "center" });
  }, [marked]);

  const shown = all ? sorted : sorted.slice(0, FIRST_ROWS);
  return (
    <div class="table" ref={box} id={`table-${id}`}>
      {filter && rows.length >= FILTER_FROM_ROWS && (
        <input
          type="search"
          placeholder="Filter by name"
          aria-label="Filter rows"
          value={words}
          onInput={(e) => setWords(e.currentTarget.value)}
        />
      )}
      <div class="scroll">
        <table>
          <thead>
            <tr>
              {shownColumns.map((c) => (
                <Heading key={c.key} column={c} order={order} onOrder={setOrder} />
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((row) => (
              <TableRow
                key={keys.get(row)}
                row={row}
                columns={shownColumns}
                detail={detail?.(row) ?? longName(columns[0], row)}
                isMarked={row === marked?.row}
                isOpen={row === open}
                onToggle={() => setOpen(open === row ? null : row)}
              />
            ))}
          </tbody>
        </table>
      </div>
      {sorted.length > FIRST_ROWS && (
        <button type="button" class="more" onClick={() => setAll(!all)}>
          {all ? `Show the first ${FIRST_ROWS}` : `Show all ${count(sorted.length)}`}
        </button>
      )}
      {total !== undefined && total > rows.length && (
        <p class="note">
          This page includes {count(rows.length)} of {count(total)} rows; the command line lists all of them.
        </p>
      )}
    </div>
  );
}
