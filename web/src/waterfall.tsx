// SPDX-License-Identifier: Apache-2.0
// From the wall of A to the wall of B, one step per change. A click opens what the change is made of.
import { useState } from "preact/hooks";
import type { CallPart, Comparison, Contribution } from "./compare_model";
import { share, signedMs } from "./delta";
import { count, cut, ms, pct, plain } from "./format";
import { EvidenceItem } from "./sections";
import { SortTable } from "./table";

const FIRST = 12;

export const causeText = (c: Contribution): string => plain(cut(c.cause, 60)) + (c.detail ? ` (${cut(c.detail, 60)})` : "");
export const placeText = (c: { stage: string | null; module: string | null; op?: string | null }): string =>
  [c.stage, c.module, c.op].filter((part): part is string => !!part).map((part) => cut(part, 70)).join(" · ");
const surely = (c: Contribution): string => (c.cause === "noise" ? "–" : c.confidence != null && c.confidence > 0.995 && c.confidence < 1 ? ">99 %" : pct(c.confidence, 0));

function pair(a: string | null, b: string | null): string {
  if (!a || !b || a === b) return a || b || "";
  return `${a} → ${b}`;
}
const calls = (r: { count_a: number; count_b: number }) => (r.count_a === r.count_b ? count(r.count_a) : `${count(r.count_a)} → ${count(r.count_b)}`);

function Parts({ id, parts }: { id: string; parts: CallPart[] }) {
  return (
    <SortTable id={id} rows={parts} sort="delta" columns={[
      { key: "op", label: "Operator", text: true, value: (p) => p.op || p.change || "–" },
      { key: "kernel", label: "Kernel", text: true, value: (p) => pair(p.kernel_a, p.kernel_b) },
      { key: "shapes", label: "Shapes", text: true, value: (p) => pair(p.shapes_a, p.shapes_b) },
      { key: "calls", label: "Calls", value: (p) => p.count_b, show: calls },
      { key: "a", label: "A", value: (p) => p.a_ms, show: (p) => ms(p.a_ms) },
      { key: "b", label: "B", value: (p) => p.b_ms, show: (p) => ms(p.b_ms) },
      { key: "delta", label: "B − A", value: (p) => Math.abs(p.delta_ms ?? 0), show: (p) => signedMs(p.delta_ms) },
    ]} />
  );
}

function Opened({ c }: { c: Contribution }) {
  const lists = [["A", c.evidence_a], ["B", c.evidence_b]] as const;
  return (
    <div class="opened">
      {c.text && <p class="message">{cut(c.text, 1200)}</p>}
      <p class="facts">
        <span>A <b>{ms(c.a_ms)}</b></span><span>B <b>{ms(c.b_ms)}</b></span>
        <span>number of calls <b>{signedMs(c.count_effect_ms)}</b></span><span>speed <b>{signedMs(c.speed_effect_ms)}</b></span>
        <span>idle <b>{signedMs(c.idle_effect_ms)}</b></span>
        <span>device time {ms(c.busy_a_ms)} → {ms(c.busy_b_ms)}</span><span>{calls(c)} calls</span>
        {c.p_value != null && <span>p {c.p_value < 1e-4 ? "< 0.0001" : c.p_value.toPrecision(2)}</span>}
        <span class="muted">{c.structural ? "structural" : c.significant ? "beyond chance" : "not significant"}</span>
      </p>
      {c.kernel_a && c.kernel_b && c.kernel_a !== c.kernel_b && <p class="note">Kernel {cut(pair(c.kernel_a, c.kernel_b), 400)}</p>}
      {c.shapes_a && c.shapes_b && c.shapes_a !== c.shapes_b && <p class="note">Shapes {cut(pair(c.shapes_a, c.shapes_b), 400)}</p>}
      {c.parts.length > 0 && <Parts id={`parts-${c.rank}`} parts={c.parts} />}
      {lists.some(([, rows]) => rows.length > 0) && (
        <div class="evidence">
          {lists.map(([side, rows]) => rows.length > 0 && (
            <div key={side}><b>Evidence in {side}</b><ul>{rows.slice(0, 20).map((e, i) => <EvidenceItem key={i} evidence={e} />)}</ul></div>
          ))}
        </div>
      )}
    </div>
  );
}

interface Range { low: number; high: number }
// Where on the chart a value stands, in percent.
const at = (v: number, r: Range) => Math.min(100, Math.max(0, (100 * (v - r.low)) / Math.max(1e-12, r.high - r.low)));

// Zero is on the chart unless the steps would be too small to see beside it.
function rangeOf(levels: number[]): Range {
  const low = Math.min(...levels), high = Math.max(...levels);
  const room = (high - low) * 0.06;
  return low <= 0 || high - low > 0.45 * high ? { low: Math.min(0, low), high: high + room } : { low: low - Math.max(room, (high - low) * 0.25), high: high + room };
}

function Bar({ from, to, kind, range }: { from: number; to: number; kind: string; range: Range }) {
  const left = at(Math.min(from, to), range), right = at(Math.max(from, to), range);
  return (
    <span class="track">
      <i class={`step ${kind}`} style={{ left: `${left}%`, width: `max(2px, ${right - left}%)` }} />
      <i class="level" style={{ left: `${at(to, range)}%` }} />
    </span>
  );
}

function Wall({ name, title, value, range }: { name: string; title: string; value: number | null; range: Range }) {
  return (
    <div class="fall-row wall">
      <span class="fall-rank" />
      <span class="fall-what"><b>{name}</b> <span class="muted">{cut(title, 60)}</span></span>
      <span class="track"><i class="step whole" style={{ left: 0, width: `${at(value ?? 0, range)}%` }} /></span>
      <span class="fall-delta"><b>{ms(value)}</b></span>
      <span class="fall-share" />
      <span class="fall-sure" />
    </div>
  );
}

export function Waterfall({ comparison: c, names }: { comparison: Comparison; names: { a: string; b: string } }) {
  const [all, setAll] = useState(false);
  const [open, setOpen] = useState<number | null>(null);
  const shown = all ? c.contributions : c.contributions.slice(0, FIRST);
  const rest = c.contributions.slice(shown.length);
  const steps = [...shown.map((x) => x.delta_ms ?? 0), rest.reduce((s, x) => s + (x.delta_ms ?? 0), 0), c.residual_ms ?? 0];
  const levels = [c.wall_a_ms ?? 0];
  for (const step of steps) levels.push(levels[levels.length - 1] + step);
  const range = rangeOf([...levels, c.wall_b_ms ?? 0]);
  const whole = c.delta_ms ?? 0;
  const last = shown.length;
  return (
    <div class="fall" id="fall">
      <div class="fall-row head" aria-hidden="true">
        <span class="fall-rank">#</span><span class="fall-what">Change</span>
        <span class="track"><span class="axis">{range.low > 0 ? `axis from ${ms(range.low)}` : ""}</span></span>
        <span class="fall-delta">B − A</span><span class="fall-share">Share</span><span class="fall-sure">Sure</span>
      </div>
      <Wall name="A" title={names.a} value={c.wall_a_ms} range={range} />
      {shown.map((x, i) => {
        const kind = `${(x.delta_ms ?? 0) > 0 ? "slower" : "faster"}${x.significant ? "" : " weak"}`;
        return (
          <div key={x.rank} class={`fall-item ${open === x.rank ? "is-open" : ""}`} id={`change-${x.rank}`}>
            <button type="button" class="fall-row" aria-expanded={open === x.rank} onClick={() => setOpen(open === x.rank ? null : x.rank)}>
              <span class="fall-rank">{x.merged ? "" : x.rank}</span>
              <span class="fall-what"><b>{x.merged ? x.text : causeText(x)}</b><span class="muted place">{placeText(x) || (x.merged ? "" : cut(x.text, 120))}</span></span>
              <Bar from={levels[i]} to={levels[i + 1]} kind={kind} range={range} />
              <span class="fall-delta">{signedMs(x.delta_ms)}</span>
              <span class="fall-share">{share(x.share)}</span>
              <span class="fall-sure">{x.merged ? "" : surely(x)}</span>
            </button>
            {open === x.rank && <Opened c={x} />}
          </div>
        );
      })}
      {rest.length > 0 && (
        <div class="fall-row">
          <span class="fall-rank" />
          <span class="fall-what">{count(rest.length)} smaller changes</span>
          <Bar from={levels[last]} to={levels[last + 1]} kind={`${steps[last] > 0 ? "slower" : "faster"} weak`} range={range} />
          <span class="fall-delta">{signedMs(steps[last])}</span><span class="fall-share">{whole !== 0 ? share(steps[last] / whole) : "–"}</span><span class="fall-sure" />
        </div>
      )}
      {c.residual_ms !== 0 && (
        <div class="fall-row">
          <span class="fall-rank" /><span class="fall-what muted">not explained</span>
          <Bar from={levels[last + 1]} to={levels[last + 2]} kind="weak" range={range} />
          <span class="fall-delta muted">{signedMs(c.residual_ms)}</span><span class="fall-share muted">{whole !== 0 && c.residual_ms != null ? share(c.residual_ms / whole) : "–"}</span><span class="fall-sure" />
        </div>
      )}
      <Wall name="B" title={names.b} value={c.wall_b_ms} range={range} />
      {c.contributions.length > FIRST && (
        <button type="button" class="more" onClick={() => setAll(!all)}>{all ? `Show the first ${FIRST}` : `Show all ${count(c.contributions.length)}`}</button>
      )}
      {c.contributions.length === 0 && <p class="note">No change that costs or saves time.</p>}
      <p class="note">Every step is the time that the change adds to (or takes from) the wall; together they are the difference. Pale steps are not significant. Click one for its calls and evidence.</p>
    </div>
  );
}
