// SPDX-License-Identifier: Apache-2.0
// Which rows a table shows, and in which order.

export type CellValue = number | string | null | undefined;

export interface SortKey<Row> {
  key: string;
  text?: boolean;
  value: (row: Row) => CellValue;
}

export interface SortOrder {
  key: string; // of a column; any other keeps the order of the rows
  descending: boolean;
}

const isMissing = (v: CellValue): v is null | undefined => v === null || v === undefined || Number.isNaN(v);

// Missing values come last in both directions.
export function compareCells(a: CellValue, b: CellValue, descending: boolean): number {
  if (isMissing(a) || isMissing(b)) return Number(isMissing(a)) - Number(isMissing(b));
  const order = typeof a === "string" || typeof b === "string" ? String(a).localeCompare(String(b)) : a - b;
  return descending ? -order : order;
}

export function filterRows<Row>(rows: Row[], columns: SortKey<Row>[], words: string): Row[] {
  const wanted = words.trim().toLowerCase();
  if (!wanted) return rows;
  const texts = columns.filter((c) => c.text);
  return rows.filter((row) =>
    texts.some((c) =>
      String(c.value(row) ?? "")
        .toLowerCase()
        .includes(wanted),
    ),
  );
}

export function sortRows<Row>(rows: Row[], columns: SortKey<Row>[], order: SortOrder): Row[] {
  const column = columns.find((c) => c.key === order.key);
  if (!column) return rows;
  return [...rows].sort((a, b) => compareCells(column.value(a), column.value(b), order.descending));
}

// A first click on a column of numbers puts the largest on top, on a column of text the first of the alphabet.
export function nextOrder<Row>(order: SortOrder, column: SortKey<Row>): SortOrder {
  return { key: column.key, descending: order.key === column.key ? !order.descending : !column.text };
}

// The column that is sorted by comes after the first one: on a phone the others are out of sight.
export function sortedSecond<Column extends { key: string }>(columns: Column[], order: SortOrder): Column[] {
  const [first, ...rest] = columns;
  const at = rest.findIndex((c) => c.key === order.key);
  return at < 1 ? columns : [first, rest[at], ...rest.filter((_, i) => i !== at)];
}
