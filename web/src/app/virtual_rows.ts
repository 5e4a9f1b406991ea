// SPDX-License-Identifier: Apache-2.0
// Which rows of a long table are in the page: those in sight and a few around them.

export interface RowWindow {
  first: number;
  last: number; // one after
}

const AROUND = 8;

export function rowWindow(rows: number, rowPx: number, scrollPx: number, heightPx: number): RowWindow {
  const first = Math.max(0, Math.min(rows, Math.floor(scrollPx / rowPx)) - AROUND);
  const last = Math.min(rows, Math.ceil((scrollPx + heightPx) / rowPx) + AROUND);
  return { first, last: Math.max(first, last) };
}

// Where to scroll so that a row is in sight, below a heading of the height of a row.
export function scrollToRow(row: number, rowPx: number, scrollPx: number, heightPx: number): number {
  const top = row * rowPx;
  if (top < scrollPx) return top;
  const most = top + 2 * rowPx - heightPx;
  return Math.max(most, scrollPx);
}
