// SPDX-License-Identifier: Apache-2.0
// Completion of SQL: tables after FROM and JOIN, columns of the tables that the statement names, and keywords.
import type { SchemaTable } from "../../data/generated";

export interface Completion {
  text: string;
  about: string;
}

export interface CompletionList {
  from: number; // start of the word in the text
  items: Completion[];
}

const KEYWORDS =
  "SELECT FROM WHERE GROUP BY ORDER LIMIT JOIN LEFT ON AS AND OR NOT NULL IS IN BETWEEN DISTINCT COUNT SUM AVG MIN MAX MEDIAN QUANTILE_CONT CASE WHEN THEN ELSE END HAVING WITH DESC ASC USING LIKE ILIKE UNION".split(
    " ",
  );
const MOST = 12;

const isTablePlace = (before: string): boolean => /\b(from|join)\s+("?\w*)$/i.test(before);

// Names after FROM and JOIN with their aliases, in lower case.
export function aliasesIn(text: string): Map<string, string> {
  const out = new Map<string, string>();
  for (const [, table, alias] of text.matchAll(/\b(?:from|join)\s+"?(\w+)"?(?:\s+(?:as\s+)?(\w+))?/gi)) {
    const name = table.toLowerCase();
    out.set(name, name);
    if (alias && !KEYWORDS.includes(alias.toUpperCase())) out.set(alias.toLowerCase(), name);
  }
  return out;
}

function columnsOf(tables: SchemaTable[], names: Set<string>): Completion[] {
  const seen = new Map<string, Completion>();
  for (const table of tables) {
    if (names.size > 0 && !names.has(table.name)) continue;
    for (const c of table.columns)
      if (!seen.has(c.name)) seen.set(c.name, { text: c.name, about: `${table.name}, ${c.type}. ${c.doc}` });
  }
  return [...seen.values()];
}

export function completions(text: string, cursor: number, tables: SchemaTable[]): CompletionList {
  const before = text.slice(0, cursor);
  const word = /\w*$/.exec(before)?.[0] ?? "";
  const from = cursor - word.length;
  const aliases = aliasesIn(text);
  const qualifier = /(\w+)\.\w*$/.exec(before)?.[1]?.toLowerCase();
  const startsSo = (c: Completion) => c.text.toLowerCase().startsWith(word.toLowerCase()) && c.text !== word;
  const done = (items: Completion[]): CompletionList => ({ from, items: items.filter(startsSo).slice(0, MOST) });
  if (qualifier) return done(columnsOf(tables, new Set([aliases.get(qualifier) ?? qualifier])));
  const names = tables.map((t) => ({ text: t.name, about: t.doc }));
  if (isTablePlace(before)) return done(names);
  if (word === "") return { from, items: [] };
  const known = new Set([...aliases.values()].filter((name) => tables.some((t) => t.name === name)));
  const keywords = KEYWORDS.map((k) => ({ text: k, about: "" }));
  return done([...columnsOf(tables, known), ...names, ...keywords]);
}
