// SPDX-License-Identifier: Apache-2.0
// Tabs of a run that show the reply of one operation with the widgets of the report.
import { useEffect } from "preact/hooks";
import type { IdleReply, RanksReply } from "../../data/generated";
import { FlameView } from "../../report/flame";
import { IdleView, Launches } from "../../report/idle";
import { Kernels, Operators } from "../../report/name_tables";
import { Stages } from "../../report/stages";
import { focusRow } from "../../widgets/focus";
import { capitalised, count, cut, ms, plain } from "../../widgets/format";
import { RooflineView } from "../../widgets/roofline";
import { SortTable } from "../../widgets/table";
import { Toggle } from "../../widgets/toggle";
import { useField } from "../navigation";
import { runAddress } from "../route";
import { Called, EmptyNote } from "../states";
import { flameNodes } from "./flame_nodes";

interface TabProps {
  run: string;
}
const ROWS = 5000;
const FRAMES = 10_000;

// The row that the address names, once the table is there.
function FocusedRow({ table }: { table: "operators" | "kernels" }) {
  const [name] = useField("row");
  useEffect(() => {
    if (name) focusRow({ table, name });
  }, [table, name]);
  return null;
}

// Where a table is of: the steady phase, or all of the run.
function PhaseChoice() {
  const [phase, setPhase] = useField("phase", "all");
  return (
    <div class="bar">
      <Toggle
        chosen={phase}
        onChoose={setPhase}
        choices={[
          { value: "all", label: "Whole run" },
          { value: "steady", label: "Steady phase" },
        ]}
      />
    </div>
  );
}

const usePhase = () => useField("phase", "all")[0] as "all" | "steady";

export function OperatorsTab({ run }: TabProps) {
  const phase = usePhase();
  return (
    <section>
      <h2>Operators</h2>
      <PhaseChoice />
      <Called name="operators" params={{ run, limit: ROWS, phase }} what="the operators">
        {(reply) =>
          reply.operators.length === 0 ? (
            <EmptyNote title="No operators were recorded">
              <p>The profile has no events of a framework, only those of the device or the system.</p>
            </EmptyNote>
          ) : (
            <>
              <Operators rows={reply.operators} total={reply.rows_total} />
              <FocusedRow table="operators" />
            </>
          )
        }
      </Called>
    </section>
  );
}

export function KernelsTab({ run }: TabProps) {
  const phase = usePhase();
  return (
    <section>
      <h2>Kernels</h2>
      <PhaseChoice />
      <Called name="kernels" params={{ run, limit: ROWS, phase }} what="the kernels">
        {(reply) =>
          reply.kernels.length === 0 ? (
            <EmptyNote title="No kernels were recorded">
              <p>The run used no device, or its profiler did not record device work.</p>
            </EmptyNote>
          ) : (
            <>
              <Kernels rows={reply.kernels} total={reply.rows_total} />
              <FocusedRow table="kernels" />
            </>
          )
        }
      </Called>
    </section>
  );
}

export function FlameTab({ run }: TabProps) {
  return (
    <section>
      <h2>Flame graph</h2>
      <Called name="flame" params={{ run, top: FRAMES }} what="the call tree">
        {(reply) =>
          reply.tree.length === 0 ? (
            <EmptyNote title="No call tree">
              <p>The profile has no operators, Python calls or stacks.</p>
            </EmptyNote>
          ) : (
            <>
              <FlameView nodes={flameNodes(reply.tree)} />
              {reply.unit && <p class="note">This profile has no times: widths are {cut(reply.unit, 40)}.</p>}
            </>
          )
        }
      </Called>
    </section>
  );
}

export function RooflineTab({ run }: TabProps) {
  return (
    <section>
      <h2>Roofline</h2>
      <Called name="roofline" params={{ run, limit: ROWS }} what="the roofline">
        {(reply) => (
          <>
            {(reply.points.length > 0 || reply.counted.length === 0) && (
              <RooflineView points={reply.points} peaks={reply.peaks} reason={reply.peaks_reason} />
            )}
            {reply.counted.length > 0 && (
              <>
                <h3>By hardware counters</h3>
                <RooflineView points={reply.counted} peaks={reply.peaks} reason={null} />
              </>
            )}
          </>
        )}
      </Called>
    </section>
  );
}

export function StagesTab({ run }: TabProps) {
  return (
    <section>
      <h2>Stages</h2>
      <Called name="stages" params={{ run }} what="the stages">
        {(reply) =>
          reply.stages.length === 0 ? (
            <EmptyNote title="No stages">
              <p>{cut(reply.reason ?? "The run has no stages of LLM inference.", 400)}</p>
            </EmptyNote>
          ) : (
            <Stages section={reply} />
          )
        }
      </Called>
    </section>
  );
}

function Gaps({ idle, run }: { idle: IdleReply; run: string }) {
  return (
    <SortTable
      id="gaps"
      rows={idle.largest}
      sort="dur"
      columns={[
        {
          key: "start",
          label: "Start",
          value: (g) => g.start_ms,
          show: (g) => (
            <a
              href={runAddress(run, "timeline", {
                from: Math.max(0, g.start_ms - g.dur_ms),
                to: g.start_ms + 2 * g.dur_ms,
              })}
            >
              {ms(g.start_ms)}
            </a>
          ),
        },
        { key: "dur", label: "Duration", value: (g) => g.dur_ms, show: (g) => ms(g.dur_ms) },
        { key: "device", label: "GPU", value: (g) => g.device, show: (g) => g.device ?? "–" },
        { key: "cause", label: "Cause", text: true, value: (g) => plain(g.cause) },
        { key: "name", label: "Name", text: true, value: (g) => g.name ?? "" },
        { key: "next", label: "Ended by", text: true, value: (g) => g.next ?? "" },
      ]}
    />
  );
}

export function IdleTab({ run }: TabProps) {
  return (
    <>
      <section>
        <h2>Device idle time</h2>
        <Called name="idle" params={{ run, limit: 0, gaps: 50 }} what="the idle time">
          {(reply) =>
            reply.devices.length === 0 ? (
              <EmptyNote title="No device, no idle time">
                <p>No device work with times was recorded.</p>
              </EmptyNote>
            ) : (
              <>
                <IdleView idle={reply} />
                {reply.largest.length > 0 && (
                  <>
                    <h3>Longest gaps</h3>
                    <Gaps idle={reply} run={run} />
                  </>
                )}
              </>
            )
          }
        </Called>
      </section>
      <section>
        <h2>Launches</h2>
        <Called name="launch" params={{ run }} what="the launches">
          {(reply) =>
            reply.launches === 0 ? <p class="note">No launches were recorded.</p> : <Launches launch={reply} />
          }
        </Called>
      </section>
    </>
  );
}

function RankTables({ reply: r }: { reply: RanksReply }) {
  const nameOf = (m: { rank: number | null; device: number | null }) =>
    m.rank === null ? `GPU ${m.device ?? "?"}` : `rank ${m.rank}`;
  return (
    <>
      <p class="facts">
        <span>
          waited <b>{ms(r.waited_ms)}</b>
        </span>
        <span>
          transfer <b>{ms(r.transfer_ms)}</b>
        </span>
        <span>{count(r.collectives_total)} collectives</span>
        {r.clocks_corrected && <span>arrivals are corrected for clock offsets</span>}
      </p>
      <SortTable
        id="members"
        rows={r.members}
        sort="held"
        columns={[
          { key: "who", label: "Member", text: true, value: nameOf },
          { key: "held", label: "Held up others", value: (m) => m.held_up_ms, show: (m) => ms(m.held_up_ms) },
          { key: "last", label: "Last", value: (m) => m.last, show: (m) => count(m.last) },
          { key: "waited", label: "Waited", value: (m) => m.waited_ms, show: (m) => ms(m.waited_ms) },
          { key: "transfer", label: "Transfer", value: (m) => m.transfer_ms, show: (m) => ms(m.transfer_ms) },
          { key: "late", label: "Mean lateness", value: (m) => m.mean_late_ms, show: (m) => ms(m.mean_late_ms) },
        ]}
      />
      <SortTable
        id="collectives"
        rows={r.collectives}
        sort="skew"
        filter
        columns={[
          { key: "name", label: "Collective", text: true, value: (c) => c.name ?? "" },
          { key: "group", label: "Group", text: true, value: (c) => c.group ?? "" },
          { key: "start", label: "Start", value: (c) => c.start_ms, show: (c) => ms(c.start_ms) },
          { key: "skew", label: "Skew", value: (c) => c.skew_ms, show: (c) => ms(c.skew_ms) },
          { key: "transfer", label: "Transfer", value: (c) => c.transfer_ms, show: (c) => ms(c.transfer_ms) },
          { key: "last", label: "Last member", value: (c) => c.last, show: (c) => count(c.last) },
        ]}
      />
    </>
  );
}

export function RanksTab({ run }: TabProps) {
  return (
    <section>
      <h2>Ranks</h2>
      <Called name="ranks" params={{ run, limit: 500 }} what="the ranks">
        {(reply) =>
          reply.members.length === 0 || reply.collectives_total === 0 ? (
            <EmptyNote title="No ranks to compare">
              <p>{capitalised(cut(reply.not_assessed ?? "the run has no collectives", 400))}.</p>
              <p>
                Ranks that were recorded in files of their own are one run: <code>neurolens import FOLDER</code>.
              </p>
            </EmptyNote>
          ) : (
            <RankTables reply={reply} />
          )
        }
      </Called>
    </section>
  );
}
