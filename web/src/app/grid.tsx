// SPDX-License-Identifier: Apache-2.0
// A table of any number of rows: only those in sight are in the page. Arrow keys move, Enter opens, Space selects.
// On a phone a table with `card` shows each row as a few lines, and its order is chosen from a list.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useNarrow } from "../widgets/narrow";
import type { SortKey, SortOrder } from "../widgets/sort_rows";
import { nextOrder } from "../widgets/sort_rows";
import { rowWindow, scrollToRow } from "./virtual_rows";
import "./cards.css";

export interface GridColumn<Row> extends SortKey<Row> {
  label: string;
  show: (row: Row) => ComponentChildren;
  width?: number; // px
  title?: (row: Row) => string;
  fixed?: boolean; // not sorted by
}

// A list of rows, or a longer one of which some are there.
export interface Rows<Row> {
  readonly length: number;
  at(row: number): Row | undefined;
}

interface Props<Row> {
  label: string;
  rows: Rows<Row>;
  columns: GridColumn<Row>[];
  rowKey: (row: Row, at: number) => string | number;
  order?: SortOrder;
  onOrder?: (order: SortOrder) => void;
  onOpen?: (row: Row) => void;
  onSelect?: (row: Row) => void;
  isSelected?: (row: Row) => boolean;
  onWindow?: (first: number, last: number) => void; // the rows that are in the page
  isBusy?: boolean; // some of them are asked for
  heightPx?: number;
  card?: (row: Row) => ComponentChildren; // the lines of a row on a phone
}

const ROW_PX = 32;
const CARD_PX = 76;

function GridHeading<Row>({
  column,
  order,
  onOrder,
}: { column: GridColumn<Row> } & Pick<Props<Row>, "order" | "onOrder">) {
  const isSorted = order?.key === column.key;
  const sort = isSorted ? (order?.descending ? "descending" : "ascending") : "none";
  return (
    <th
      class={column.text ? "" : "num"}
      scope="col"
      aria-sort={onOrder && !column.fixed ? sort : undefined}
      style={column.width ? { width: `${column.width}px` } : undefined}
    >
      {onOrder && order && !column.fixed ? (
        <button type="button" onClick={() => onOrder(nextOrder(order, column))}>
          {column.label}
          <span class="arrow" aria-hidden="true">
            {isSorted ? (order.descending ? "▾" : "▴") : ""}
          </span>
        </button>
      ) : (
        <span class="plainhead">{column.label}</span>
      )}
    </th>
  );
}

// The heading of cards: what they are sorted by, and the other direction.
function CardOrder<Row>({
  label,
  columns,
  order,
  onOrder,
}: Pick<Props<Row>, "label" | "columns" | "order" | "onOrder">) {
  if (!order || !onOrder) return <span class="plainhead">{label}</span>;
  const column = columns.find((c) => c.key === order.key);
  return (
    <>
      <label>
        Sort by{" "}
        <select
          value={order.key}
          onChange={(e) => {
            const chosen = columns.find((c) => c.key === e.currentTarget.value);
            if (chosen) onOrder(nextOrder(order, chosen));
          }}
        >
          {columns
            .filter((c) => !c.fixed)
            .map((c) => (
              <option key={c.key} value={c.key}>
                {c.label}
              </option>
            ))}
        </select>
      </label>
      <button
        type="button"
        aria-label={`${order.descending ? "Descending" : "Ascending"}; reverse`}
        onClick={() => column && onOrder(nextOrder(order, column))}
      >
        {order.descending ? "▾" : "▴"}
      </button>
    </>
  );
}

export function Grid<Row>(props: Props<Row>) {
  const { rows, columns, order, onOrder, onOpen, onSelect, isSelected, rowKey, heightPx = 560 } = props;
  const card = useNarrow() ? props.card : undefined;
  const rowPx = card ? CARD_PX : ROW_PX;
  const box = useRef<HTMLDivElement>(null);
  const [scroll, setScroll] = useState(0);
  const [height, setHeight] = useState(heightPx);
  const [active, setActive] = useState(-1);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const observer = new ResizeObserver(() => setHeight(element.clientHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const { first, last } = rowWindow(rows.length, rowPx, scroll, height);
  const onWindow = useRef(props.onWindow);
  onWindow.current = props.onWindow;
  // biome-ignore lint/correctness/useExhaustiveDependencies: other rows may need other pages in the same window
  useEffect(() => onWindow.current?.(first, last), [first, last, rows]);

  const moveTo = (row: number) => {
    const next = Math.max(0, Math.min(rows.length - 1, row));
    setActive(next);
    if (box.current) box.current.scrollTop = scrollToRow(next, rowPx, box.current.scrollTop, height);
  };
  const chosen = active >= 0 ? rows.at(active) : undefined;
  const act: Record<string, (() => void) | undefined> = {
    ArrowDown: () => moveTo(active + 1),
    ArrowUp: () => moveTo(active - 1),
    j: () => moveTo(active + 1),
    k: () => moveTo(active - 1),
    PageDown: () => moveTo(active + Math.floor(height / rowPx) - 2),
    PageUp: () => moveTo(active - Math.floor(height / rowPx) + 2),
    Home: () => moveTo(0),
    End: () => moveTo(rows.length - 1),
    Enter: chosen !== undefined && onOpen ? () => onOpen(chosen) : undefined,
    " ": chosen !== undefined && onSelect ? () => onSelect(chosen) : undefined,
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const run = event.target === box.current && !event.ctrlKey && !event.metaKey ? act[event.key] : undefined;
    if (!run) return;
    event.preventDefault();
    run();
  };
  return (
    <section
      class={card ? "grid table cardlist" : "grid table"}
      aria-label={props.label}
      aria-busy={props.isBusy ? "true" : undefined}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must take the keyboard
      tabIndex={0}
      ref={box}
      style={{ maxHeight: `${heightPx}px` }}
      onScroll={(e) => setScroll(e.currentTarget.scrollTop)}
      onKeyDown={onKeyDown}
    >
      <table aria-rowcount={rows.length + 1} aria-label={props.label}>
        <thead>
          <tr aria-rowindex={1}>
            {card ? (
              <th scope="col" class="cardhead">
                <CardOrder label={props.label} columns={columns} order={order} onOrder={onOrder} />
              </th>
            ) : (
              columns.map((c) => <GridHeading key={c.key} column={c} order={order} onOrder={onOrder} />)
            )}
          </tr>
        </thead>
        <tbody>
          {first > 0 && <tr class="gap" style={{ height: `${first * rowPx}px` }} />}
          {Array.from({ length: last - first }, (_, i) => {
            const at = first + i;
            const row = rows.at(at);
            if (row === undefined)
              return (
                <tr key={`row ${at}`} class="absent" aria-rowindex={at + 2}>
                  <td colSpan={card ? 1 : columns.length}>…</td>
                </tr>
              );
            const marks = [at === active ? "active" : "", isSelected?.(row) ? "selected" : ""].join(" ").trim();
            return (
              <tr
                key={rowKey(row, at)}
                class={marks}
                aria-rowindex={at + 2}
                onClick={() => setActive(at)}
                onDblClick={() => onOpen?.(row)}
              >
                {card ? (
                  <td class="card">{card(row)}</td>
                ) : (
                  columns.map((c) => (
                    <td key={c.key} class={c.text ? "name" : "num"} title={c.title?.(row)}>
                      {c.show(row)}
                    </td>
                  ))
                )}
              </tr>
            );
          })}
          {last < rows.length && <tr class="gap" style={{ height: `${(rows.length - last) * rowPx}px` }} />}
        </tbody>
      </table>
    </section>
  );
}
