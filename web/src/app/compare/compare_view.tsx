// SPDX-License-Identifier: Apache-2.0
// Two runs or two sets of runs: the same sections as the comparison page, from the operation `compare`.
import { useEffect, useMemo } from "preact/hooks";
import { Hero, titleOf } from "../../compare/hero";
import { sectionsOf } from "../../compare/sections";
import type { CompareReply, ListedRun } from "../../data/generated";
import type { CompareDocument } from "../../data/replies";
import { cut } from "../../widgets/format";
import { Toggle } from "../../widgets/toggle";
import { goTo, useField, useRoute } from "../navigation";
import { compareAddress } from "../route";
import { useNewestRuns, useRunsById } from "../runs/use_runs";
import { useCall } from "../session";
import { EmptyNote, Loaded } from "../states";

const NO_TRACK = {
  items_total: 0,
  merged_below_ms: null,
  start_ms: [],
  dur_ms: [],
  name: [],
  change: [],
  partner: [],
  count: [],
};
const MOST_CHANGES = 200;

const listOf = (text: string | null): string[] => (text ?? "").split(",").filter(Boolean);

const documentOf = (reply: CompareReply): CompareDocument => ({
  ...reply,
  timeline: reply.timeline ?? { names: [], cut: false, a: NO_TRACK, b: NO_TRACK },
  flame: reply.flame ?? { device: null, host: null },
});

function Sections({ reply }: { reply: CompareReply }) {
  const comparison = useMemo(() => documentOf(reply), [reply]);
  useEffect(() => {
    document.title = `${titleOf(comparison)} – NeuroLens`;
  }, [comparison]);
  return (
    <>
      <div class="hero">
        <Hero comparison={comparison} />
      </div>
      {sectionsOf(comparison).map((s) => (
        <section key={s.id} id={s.id}>
          <h2>{s.title}</h2>
          {s.body}
        </section>
      ))}
    </>
  );
}

const optionText = (r: ListedRun): string =>
  `${cut(r.model || r.source_name, 40)} · ${r.short_id} · ${new Date(r.created_at_ns / 1e6).toISOString().slice(0, 16).replace("T", " ")}`;

interface SideProps {
  label: string;
  chosen: string[];
  runs: ListedRun[];
  onChoose: (runs: string[]) => void;
}

function Side({ label, chosen, runs, onChoose }: SideProps) {
  const known = useMemo(() => new Map(runs.map((r) => [r.run_id, r])), [runs]);
  const named = useRunsById(chosen, known);
  const text = (id: string) => {
    const run = named.get(id);
    return run ? optionText(run) : cut(id, 60);
  };
  return (
    <fieldset class="side">
      <legend>{label}</legend>
      {chosen.map((id) => (
        <span class="tag" key={id}>
          {text(id)}
          <button
            type="button"
            aria-label={`Remove ${cut(text(id), 60)} from ${label}`}
            onClick={() => onChoose(chosen.filter((other) => other !== id))}
          >
            ×
          </button>
        </span>
      ))}
      <select
        aria-label={`Add a run to ${label}`}
        value=""
        onChange={(e) => {
          if (e.currentTarget.value) onChoose([...chosen, e.currentTarget.value]);
        }}
      >
        <option value="">{chosen.length > 0 ? "Add another run…" : "Choose a run…"}</option>
        {runs
          .filter((r) => !chosen.includes(r.run_id))
          .map((r) => (
            <option key={r.run_id} value={r.run_id}>
              {optionText(r)}
            </option>
          ))}
      </select>
    </fieldset>
  );
}

function Result({ a, b }: { a: string[]; b: string[] }) {
  const [time, setTime] = useField("time", "wall");
  const [phase, setPhase] = useField("phase", "auto");
  const compared = useCall("compare", {
    a,
    b,
    top: MOST_CHANGES,
    details: true,
    time: time as "wall" | "device",
    phase: phase as "auto" | "all" | "steady",
  });
  return (
    <>
      <div class="bar">
        <Toggle
          chosen={time}
          onChoose={setTime}
          choices={[
            { value: "wall", label: "Wall time" },
            { value: "device", label: "Device time" },
          ]}
        />
        <Toggle
          chosen={phase}
          onChoose={setPhase}
          choices={[
            { value: "auto", label: "Steady phase if both have one" },
            { value: "all", label: "Whole runs" },
          ]}
        />
      </div>
      <Loaded what="the comparison" from={compared}>
        {(reply) => <Sections key={`${reply.run_a} ${reply.run_b} ${time} ${phase}`} reply={reply} />}
      </Loaded>
    </>
  );
}

export function CompareView() {
  const { fields } = useRoute();
  const a = listOf(fields.get("a"));
  const b = listOf(fields.get("b"));
  const list = useNewestRuns(500);
  const go = (left: string[], right: string[]) =>
    goTo(compareAddress(left, right, { time: fields.get("time"), phase: fields.get("phase") }));
  useEffect(() => {
    document.title = "Compare – NeuroLens";
  }, []);
  return (
    <>
      <div class="title">
        <h1>Compare</h1>
        {a.length > 0 && b.length > 0 && (
          <button type="button" onClick={() => go(b, a)}>
            Swap A and B
          </button>
        )}
      </div>
      <Loaded what="the runs" from={list}>
        {({ runs }) => (
          <div class="sides">
            <Side label="A, before" chosen={a} runs={runs} onChoose={(next) => go(next, b)} />
            <Side label="B, after" chosen={b} runs={runs} onChoose={(next) => go(a, next)} />
          </div>
        )}
      </Loaded>
      {a.length > 0 && b.length > 0 ? (
        <Result a={a} b={b} />
      ) : (
        <EmptyNote title="Choose at least one run for each side">
          <p>
            Several runs on a side make the verdict more certain. In the list of runs, press <kbd>c</kbd> to compare the
            selected ones.
          </p>
        </EmptyNote>
      )}
    </>
  );
}
