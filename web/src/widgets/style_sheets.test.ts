// SPDX-License-Identifier: Apache-2.0
// All views of the application share one style sheet, so a class that two files define changes views that nobody looks at.
/// <reference types="vite/client" />
import { expect, test } from "vitest";

const sheets: Record<string, string> = import.meta.glob("../**/*.css", {
  query: "?raw",
  import: "default",
  eager: true,
});

// Selectors of one class alone, outside of media queries.
function classesOf(text: string): Set<string> {
  const plain = text.replaceAll(/\/\*[\s\S]*?\*\//g, "");
  const outside = plain.replaceAll(/@media[^{]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}/g, "");
  const selectors = [...outside.matchAll(/([^{}]+)\{[^{}]*\}/g)].flatMap((rule) => rule[1].split(","));
  return new Set(selectors.map((s) => s.trim()).filter((s) => /^\.[\w-]+$/.test(s)));
}

test("a class is defined by one style sheet", () => {
  expect(Object.keys(sheets).length).toBeGreaterThan(5);
  const owner = new Map<string, string>();
  const twice: string[] = [];
  for (const [sheet, text] of Object.entries(sheets))
    for (const name of classesOf(text)) {
      const other = owner.get(name);
      if (other) twice.push(`${name}: ${other} and ${sheet}`);
      owner.set(name, sheet);
    }
  expect(owner.size).toBeGreaterThan(80);
  expect(twice).toEqual([]);
});
