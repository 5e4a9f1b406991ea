// SPDX-License-Identifier: Apache-2.0
// A result as CSV (RFC 4180). A text that a spreadsheet would take for a formula begins with an apostrophe.

type Cell = null | boolean | number | string;

function csvCell(cell: Cell): string {
  if (cell === null) return "";
  if (typeof cell !== "string") return String(cell);
  const safe = /^[=+\-@\t\r]/.test(cell) && Number.isNaN(Number(cell)) ? `'${cell}` : cell;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export const csvOf = (columns: string[], rows: Cell[][]): string =>
  [columns, ...rows].map((row) => `${row.map(csvCell).join(",")}\r\n`).join("");
