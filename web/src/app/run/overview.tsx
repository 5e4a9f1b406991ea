// SPDX-License-Identifier: Apache-2.0
// The first tab of a run: verdict, phases, where the time went, and the findings with their predicted gain.
import type { Finding, PhasesReply, ReportReply, RunCounter, SteadyStep } from "../../data/generated";
import { Breakdown } from "../../report/breakdown";
import type { FindingLinks } from "../../report/findings";
import { Findings } from "../../report/findings";
import { recordedShares } from "../../report/recorded";
import { StartupView } from "../../report/startup";
import { CodeText } from "../../widgets/code_text";
import { capitalised, count, cut, ms, pct, plain, plural } from "../../widgets/format";
import { StackedBar } from "../../widgets/stacked_bar";
import { NotesPanel, useNotes } from "../notes/notes_panel";
import { runAddress } from "../route";
import { useCall } from "../session";
import { Called, isUnsupported, Loaded } from "../states";

const SEVERITY_NAME: Record<string, string> = { data_loss: "Data loss", error: "Error" };
const PHASE_NAME: Record<string, string> = {
  startup: "Start-up",
  warmup: "Warm-up",
  steady: "Steady",
  tail: "Tail",
  whole: "Whole run",
};
const PHASE_COLOR: Record<string, string> = {
  startup: "var(--hue-5)",
  warmup: "var(--hue-1)",
  steady: "var(--hue-0)",
  tail: "var(--hue-9)",
  whole: "var(--hue-0)",
};

function Loss({ reason }: { reason: RunCounter }) {
  return (
    <p class={`loss ${reason.severity in SEVERITY_NAME ? "bad" : ""}`}>
      <b>{SEVERITY_NAME[reason.severity] ?? "Notice"}</b> {count(reason.count)} × {cut(reason.name, 80)}.{" "}
      <CodeText text={cut(reason.advice ?? "", 300)} />
    </p>
  );
}

// A profile of durations without times has no idle time and no wall time.
function Tiles({ reply: r, hasTimes }: { reply: ReportReply; hasTimes: boolean }) {
  const { recorded, busy } = recordedShares(r.breakdown);
  const hasDevice = r.breakdown.some((p) => p.what === "compute" || p.what === "memory" || p.what === "communication");
  const tiles: [name: string, value: string][] = [[hasTimes ? "wall time" : "kernel time", ms(r.wall_ms)]];
  if (recorded < 0.9995) tiles.push(["recorded", pct(recorded)]);
  if (hasDevice && hasTimes) tiles.push(["GPU busy", pct(busy)]);
  tiles.push(["bound", plain(r.diagnosis.class)], ["findings", count(r.findings.length)]);
  return (
    <dl class="tiles">
      {tiles.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Verdict({ reply: r, hasTimes }: { reply: ReportReply; hasTimes: boolean }) {
  return (
    <>
      <h2 class="verdicttext" id="verdict">
        {cut(r.verdict, 800)}
      </h2>
      <Tiles reply={r} hasTimes={hasTimes} />
      {r.counters.reasons
        .filter((c) => c.severity !== "info")
        .map((c) => (
          <Loss key={c.name} reason={c} />
        ))}
      {r.breakdown.length > 0 && (
        <section>
          <h2>Where the time went</h2>
          <Breakdown parts={r.breakdown} wall_ms={r.wall_ms} />
        </section>
      )}
      {r.startup && (
        <section>
          <h2>Start-up</h2>
          <StartupView startup={r.startup} />
        </section>
      )}
    </>
  );
}

function Phases({ reply: { phases } }: { reply: PhasesReply }) {
  const slices = phases.spans.map((s, i) => ({
    key: `${s.phase} ${i}`,
    label: `${PHASE_NAME[s.phase]}${s.label ? ` (${cut(s.label, 60)})` : ""}${s.steps > 0 ? `, ${plural(s.steps, "step")}` : ""}`,
    ms: s.ms,
    share: s.share ?? 0,
    color: PHASE_COLOR[s.phase],
  }));
  return (
    <section>
      <h2>Phases</h2>
      {slices.length > 0 && <StackedBar name="Phases of the run" slices={slices} />}
      {phases.reason ? (
        <p class="note">{cut(capitalised(phases.reason), 300)}.</p>
      ) : (
        <p class="facts">
          <span>
            one steady step <b>{ms(phases.step_ms)}</b>
          </span>
          <span>{plural(phases.steady_steps, "steady step")}</span>
        </p>
      )}
    </section>
  );
}

// The place of a finding in the timeline: a row that it was derived from, else its kernel or operator by name.
function placeOf(run: string, f: Finding): string | null {
  const row = f.evidence.find((e) => e.table !== null && e.row !== null);
  if (row) return runAddress(run, "timeline", { event: `${row.table}:${row.row}` });
  const name = f.kernel ?? f.op;
  return name ? runAddress(run, "timeline", { find: name }) : null;
}

function linksOf(run: string, hasTimes: boolean): FindingLinks {
  return {
    rowAddress: (table, name) => runAddress(run, table, { row: name }),
    places: (finding) => {
      const to = hasTimes ? placeOf(run, finding) : null;
      return to && <a href={to}>show in the timeline</a>;
    },
  };
}

function GainsNote({ step }: { step: SteadyStep }) {
  return (
    <p class="note">
      Gains are of {step.steady_steps > 0 ? "one steady step" : "the whole run"} without the cost of recording:{" "}
      {ms(step.ms)}
      {step.busy_share !== null && `, GPU busy ${pct(step.busy_share, 0)}`}.
    </p>
  );
}

// Verdict, phases and findings.
export function Explained({ run }: { run: string }) {
  const phases = useCall("phases", { run });
  const [now] = phases;
  const hasTimes = now.state !== "failed" || !isUnsupported(now.problem);
  return (
    <>
      <Called name="analyze" params={{ target: run }} what="the analysis">
        {(reply) => <Verdict reply={reply} hasTimes={hasTimes} />}
      </Called>
      {hasTimes && (
        <Loaded what="the phases" from={phases}>
          {(reply) => <Phases reply={reply} />}
        </Loaded>
      )}
      <section>
        <h2>Findings</h2>
        <Called name="findings" params={{ run, limit: 200 }} what="the findings">
          {(reply) => (
            <>
              {hasTimes && reply.step && <GainsNote step={reply.step} />}
              <Findings section={reply} links={linksOf(run, hasTimes)} />
            </>
          )}
        </Called>
      </section>
    </>
  );
}

export function Overview({ run }: { run: string }) {
  const notes = useNotes(run);
  return (
    <>
      <Explained run={run} />
      <NotesPanel run={run} from={notes} />
    </>
  );
}
