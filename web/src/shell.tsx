// SPDX-License-Identifier: Apache-2.0
// What every page has: a header that leads to its sections, the sections as cards, light and dark, and the data that
// the program put into it.
import { render } from "preact";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import "./style.css";
import { isDark, startTheme, toggleTheme } from "./theme";

export interface SectionInfo { id: string; title: string; body: ComponentChildren }

export function Shell({ sections, hero, footer }: { sections: SectionInfo[]; hero: ComponentChildren; footer: ComponentChildren }) {
  const [dark, setDark] = useState(isDark());
  return (
    <>
      <header>
        <div class="wide">
          <span class="brand">NeuroLens</span>
          <nav>{sections.map((s) => <a key={s.id} href={`#${s.id}`}>{s.title}</a>)}</nav>
          <button type="button" id="theme" onClick={() => { toggleTheme(); setDark(isDark()); }} aria-label="Light or dark">{dark ? "Light" : "Dark"}</button>
        </div>
      </header>
      <main class="wide">
        <div class="hero">{hero}</div>
        {sections.map((s) => <section key={s.id} id={s.id}><h2>{s.title}</h2>{s.body}</section>)}
        <footer>{footer}</footer>
      </main>
    </>
  );
}

// Reads the model from the page itself and shows it.
export function startPage<Model>(empty: string, titleOf: (model: Model) => string, show: (model: Model) => ComponentChildren): void {
  startTheme();
  const app = document.getElementById("app")!;
  let model: Model;
  try {
    model = JSON.parse(document.getElementById("report-data")!.textContent ?? "");
  } catch {
    app.textContent = "The data of this page is damaged.";
    return;
  }
  if (typeof model !== "object") {
    app.textContent = empty;
    return;
  }
  document.title = `${titleOf(model)} – NeuroLens`;
  render(<>{show(model)}</>, app);
}
