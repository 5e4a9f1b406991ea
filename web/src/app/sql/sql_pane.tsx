// SPDX-License-Identifier: Apache-2.0
// An editor for SQL over the tables of a run, with completion, and the result below it.
import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { SchemaTable } from "../../data/generated";
import { useField } from "../navigation";
import { useCall } from "../session";
import { Called, EmptyNote } from "../states";
import { ResultGrid } from "./result_grid";
import type { Completion, CompletionList } from "./sql_complete";
import { completions } from "./sql_complete";

const FIRST_QUERY =
  "SELECT name, count(*) AS calls, sum(dur_ns) / 1e6 AS total_ms\nFROM kernel GROUP BY 1 ORDER BY 3 DESC LIMIT 100";
const MOST_ROWS = 100_000;
const NONE: CompletionList = { from: 0, items: [] };

interface ListProps {
  id: string;
  items: Completion[];
  chosen: number;
  onChoose: (item: Completion) => void;
}

function CompletionBox({ id, items, chosen, onChoose }: ListProps) {
  return (
    <div class="completions" role="listbox" id={id} aria-label="Completions">
      {items.map((item, i) => (
        <div
          key={item.text}
          id={`${id}-${i}`}
          role="option"
          tabIndex={-1}
          aria-selected={i === chosen}
          onMouseDown={(e) => {
            e.preventDefault();
            onChoose(item);
          }}
        >
          <b>{item.text}</b> <span class="muted">{item.about.slice(0, 90)}</span>
        </div>
      ))}
    </div>
  );
}

interface EditorProps {
  text: string;
  tables: SchemaTable[];
  onText: (text: string) => void;
  onRun: () => void;
}

export function SqlEditor({ text, tables, onText, onRun }: EditorProps) {
  const id = useId();
  const area = useRef<HTMLTextAreaElement>(null);
  const [list, setList] = useState<CompletionList>(NONE);
  const [chosen, setChosen] = useState(0);
  const [place, setPlace] = useState<number | null>(null);
  const isOpen = list.items.length > 0;

  useEffect(() => {
    if (place !== null) area.current?.setSelectionRange(place, place);
    setPlace(null);
  }, [place]);

  const suggest = (now: string, cursor: number) => {
    setList(completions(now, cursor, tables));
    setChosen(0);
  };
  const accept = (item: Completion) => {
    const cursor = area.current?.selectionStart ?? text.length;
    onText(text.slice(0, list.from) + item.text + text.slice(cursor));
    setPlace(list.from + item.text.length);
    setList(NONE);
  };
  const listKeys: Record<string, (() => void) | undefined> = {
    ArrowDown: () => setChosen((chosen + 1) % list.items.length),
    ArrowUp: () => setChosen((chosen + list.items.length - 1) % list.items.length),
    Tab: () => accept(list.items[chosen]),
    Enter: () => accept(list.items[chosen]),
    Escape: () => setList(NONE),
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const isControl = event.ctrlKey || event.metaKey;
    let act = isOpen && !isControl ? listKeys[event.key] : undefined;
    if (isControl && event.key === "Enter") act = onRun;
    if (isControl && event.key === " ") act = () => suggest(text, area.current?.selectionStart ?? 0);
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  };
  return (
    <div class="editor">
      <textarea
        ref={area}
        data-search
        aria-label="SQL"
        aria-autocomplete="list"
        aria-controls={isOpen ? id : undefined}
        aria-activedescendant={isOpen ? `${id}-${chosen}` : undefined}
        rows={Math.min(16, Math.max(4, text.split("\n").length + 1))}
        spellcheck={false}
        value={text}
        onKeyDown={onKeyDown}
        onBlur={() => setList(NONE)}
        onInput={(e) => {
          onText(e.currentTarget.value);
          suggest(e.currentTarget.value, e.currentTarget.selectionStart);
        }}
      />
      {isOpen && <CompletionBox id={id} items={list.items} chosen={chosen} onChoose={accept} />}
    </div>
  );
}

export function SqlPane({ run }: { run: string }) {
  const [asked, setAsked] = useField("q");
  const [text, setText] = useState(asked || FIRST_QUERY);
  const [schema] = useCall("schema", { what: "table" });
  useEffect(() => {
    if (asked) setText(asked);
  }, [asked]);
  const tables = schema.state === "loaded" ? (schema.reply.tables ?? []) : [];
  const ask = () => setAsked(text.trim());
  return (
    <section>
      <h2>Query</h2>
      <SqlEditor text={text} tables={tables} onText={setText} onRun={ask} />
      <div class="bar">
        <button type="button" onClick={ask}>
          Run
        </button>
        <span class="muted">
          <kbd>Ctrl</kbd>
          <kbd>Enter</kbd> runs, <kbd>Ctrl</kbd>
          <kbd>Space</kbd> completes
        </span>
      </div>
      {asked && (
        <Called name="query" params={{ args: [run, asked], max_rows: MOST_ROWS }} what="the result">
          {(reply) =>
            reply.rows.length === 0 ? (
              <EmptyNote title="The query gives no rows" />
            ) : (
              <ResultGrid key={asked} run={run} sql={asked} reply={reply} />
            )
          }
        </Called>
      )}
      <details>
        <summary>Tables and columns</summary>
        <ul class="schema">
          {tables.map((t) => (
            <li key={t.name}>
              <b>{t.name}</b> <span class="muted">{t.doc}</span>: {t.columns.map((c) => c.name).join(", ")}
            </li>
          ))}
        </ul>
      </details>
    </section>
  );
}
