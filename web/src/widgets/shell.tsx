// SPDX-License-Identifier: Apache-2.0
// What every page has: a header with links to the sections, the sections as cards, and the switch of light and dark.
import type { ComponentChildren } from "preact";
import { render } from "preact";
import { useState } from "preact/hooks";
import { parsePageData } from "../data/page_data";
import { isDark, startTheme, toggleTheme } from "./theme";

export interface SectionInfo {
  id: string;
  title: string;
  link?: string; // shorter than the title, for the header
  body: ComponentChildren;
}

interface Props {
  sections: SectionInfo[];
  hero: ComponentChildren;
  footer: ComponentChildren;
}

function ThemeButton() {
  const [dark, setDark] = useState(isDark());
  const toggle = () => {
    toggleTheme();
    setDark(isDark());
  };
  return (
    <button type="button" id="theme" onClick={toggle} aria-label={`Switch to ${dark ? "light" : "dark"} colours`}>
      {dark ? "Light" : "Dark"}
    </button>
  );
}

export function Shell({ sections, hero, footer }: Props) {
  return (
    <>
      <header>
        <div class="wide">
          <span class="brand">NeuroLens</span>
          <nav aria-label="Sections">
            {sections.map((s) => (
              <a key={s.id} href={`#${s.id}`}>
                {s.link ?? s.title}
              </a>
            ))}
          </nav>
          <ThemeButton />
        </div>
      </header>
      <main class="wide">
        <div class="hero">{hero}</div>
        {sections.map((s) => (
          <section key={s.id} id={s.id}>
            <h2>{s.title}</h2>
            {s.body}
          </section>
        ))}
        <footer>{footer}</footer>
      </main>
    </>
  );
}

// Shows the document that the page holds. `empty` is the text of a page without one.
export function startPage<Document>(
  empty: string,
  titleOf: (document: Document) => string,
  show: (document: Document) => ComponentChildren,
): void {
  startTheme();
  const app = document.getElementById("app");
  if (!app) return;
  const data = parsePageData<Document>(document.getElementById("report-data")?.textContent ?? "");
  if (data.state !== "loaded") {
    app.textContent = data.state === "empty" ? empty : "Cannot read the data of this page: it is not valid JSON.";
    return;
  }
  document.title = `${titleOf(data.document)} – NeuroLens`;
  render(show(data.document), app);
}
