// SPDX-License-Identifier: Apache-2.0
// The comparison page: what changed between two runs, how much each change costs, where.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { CompareRow, Comparison, RunInfo } from "./compare_model";
import { signedMs } from "./delta";
import { FlameDiff } from "./flame_diff";
import { count, cut, ms, pct, short3 } from "./format";
import { PairTimeline } from "./pair_timeline";
import type { SectionInfo } from "./shell";
import { Shell, startPage } from "./shell";
import { SortTable } from "./table";
import { placeText, Waterfall } from "./waterfall";

function sideName(c: Comparison, side: "a" | "b"): string {
  const runs = c.runs?.[side] ?? [];
  const first = runs[0]?.name || runs[0]?.run_id || (side === "a" ? c.run_a : c.run_b);
  return runs.length > 1 ? `${first} and ${runs.length - 1} more` : first;
}
const ratio = (a: number | null, b: number | null): number | null => (a && b != null && a > 0 ? b / a - 1 : null);
const signedPct = (v: number | null): string => (v == null ? "–" : `${v > 0 ? "+" : ""}${pct(v)}`);

const TABLES = [["kernel", "Kernel", "by_kernel"], ["op", "Operator", "by_op"], ["module", "Module", "by_module"], ["stage", "Stage", "by_stage"]] as const;

function DeltaCell({ row, most }: { row: CompareRow; most: number }) {
  const delta = row.delta_ms ?? 0;
  const size = Math.min(1, Math.abs(delta) / most) * 50;
  return (
    <span class="deltacell">
      <span class="deltabar"><i class={delta > 0 ? "slower" : "faster"} style={{ left: `${delta > 0 ? 50 : 50 - size}%`, width: `${size}%` }} /></span>
      <span>{signedMs(row.delta_ms)}</span>
    </span>
  );
}

function Tables({ comparison }: { comparison: Comparison }) {
  const there = TABLES.filter(([, , key]) => comparison[key].length > 0);
  const [by, setBy] = useState<string>(there[0]?.[0] ?? "kernel");
  const [id, label, key] = there.find(([name]) => name === by) ?? TABLES[0];
  const rows = comparison[key];
  const most = Math.max(1e-12, ...rows.map((r) => Math.abs(r.delta_ms ?? 0)));
  return (
    <div>
      <div class="bar" role="group" aria-label="Table">
        {there.map(([name, title]) => <button key={name} type="button" aria-pressed={by === name} onClick={() => setBy(name)}>By {title.toLowerCase()}</button>)}
      </div>
      <SortTable key={id} id={id} rows={rows} sort="delta" filter columns={[
        { key: "name", label, text: true, value: (r) => r.name || "(none)" },
        { key: "delta", label: "B − A", value: (r) => Math.abs(r.delta_ms ?? 0), show: (r) => <DeltaCell row={r} most={most} />, title: "Sorts by size, whatever the sign" },
        { key: "change", label: "Change", value: (r) => ratio(r.a_ms, r.b_ms), show: (r) => (r.a_ms === 0 ? "new" : signedPct(ratio(r.a_ms, r.b_ms))) },
        { key: "a", label: "A", value: (r) => r.a_ms, show: (r) => ms(r.a_ms) },
        { key: "b", label: "B", value: (r) => r.b_ms, show: (r) => ms(r.b_ms) },
        { key: "devicea", label: "GPU A", value: (r) => r.busy_a_ms, show: (r) => ms(r.busy_a_ms) },
        { key: "deviceb", label: "GPU B", value: (r) => r.busy_b_ms, show: (r) => ms(r.busy_b_ms) },
        { key: "callsa", label: "Calls A", value: (r) => r.count_a, show: (r) => count(r.count_a) },
        { key: "callsb", label: "Calls B", value: (r) => r.count_b, show: (r) => count(r.count_b) },
      ]} />
      <p class="note">A and B sum to the walls: device time once, and the idle time that each thing ended. GPU is the device time in them.</p>
    </div>
  );
}

const METRICS = [["achieved_occupancy", "Occupancy"], ["warp_execution_efficiency", "Warp efficiency"], ["l2_hit_rate", "L2 hits"], ["sm_efficiency", "SM efficiency"],
  ["tensor_active", "Tensor active"], ["dram_read_gb", "DRAM read, GB"], ["dram_write_gb", "DRAM written, GB"]] as const;

function Counters({ counters }: { counters: NonNullable<Comparison["counters"]> }) {
  const number = (side: Record<string, unknown> | null, metric: string) => (typeof side?.[metric] === "number" ? (side[metric] as number) : null);
  const used = METRICS.filter(([metric]) => counters.some((c) => number(c.a, metric) !== null || number(c.b, metric) !== null));
  const show = (metric: string, v: number | null) => (metric.endsWith("_gb") ? short3(v) : pct(v));
  return (
    <SortTable id="counters" rows={counters} sort="time" filter columns={[
      { key: "kernel", label: "Kernel", text: true, value: (c) => c.kernel },
      { key: "time", label: "Time A → B", value: (c) => Math.max(c.a?.total_ms ?? 0, c.b?.total_ms ?? 0), show: (c) => `${ms(c.a?.total_ms)} → ${ms(c.b?.total_ms)}` },
      ...used.map(([metric, label]) => ({
        key: metric, label, value: (c: (typeof counters)[number]) => number(c.b, metric), show: (c: (typeof counters)[number]) => `${show(metric, number(c.a, metric))} → ${show(metric, number(c.b, metric))}`,
      })),
    ]} />
  );
}

function Likeness({ comparison }: { comparison: Comparison }) {
  const f = comparison.fingerprint!;
  return (
    <div>
      <p class="facts">
        <span>similarity <b>{f.similarity?.toFixed(4) ?? "–"}</b></span><span>of what aligned <b>{f.cosine?.toFixed(4) ?? "–"}</b></span><span>plain cosine <b>{f.plain?.toFixed(4) ?? "–"}</b></span>
        <span>{count(f.matched_ops)} ops aligned</span>{f.substituted > 0 && <span class="muted">{count(f.substituted)} features were not measured</span>}
      </p>
      <SortTable id="likeness" rows={f.divergent} sort="distance" columns={[
        { key: "name", label: "Least alike", text: true, value: (d) => d.name },
        { key: "type", label: "Type", text: true, value: (d) => d.type },
        { key: "a", label: "Latency share A", value: (d) => d.lat_norm_a, show: (d) => pct(d.lat_norm_a) },
        { key: "b", label: "Latency share B", value: (d) => d.lat_norm_b, show: (d) => pct(d.lat_norm_b) },
        { key: "distance", label: "Distance", value: (d) => d.distance, show: (d) => short3(d.distance) },
      ]} />
    </div>
  );
}

function Runs({ comparison: c }: { comparison: Comparison }) {
  const rows: (RunInfo & { side: string; wall?: number })[] = (["a", "b"] as const).flatMap((side) =>
    (c.runs?.[side] ?? []).map((run, i) => ({ ...run, side: side.toUpperCase(), wall: (side === "a" ? c.walls_a_ms : c.walls_b_ms)?.[i] ?? (c.runs![side].length === 1 ? ((side === "a" ? c.wall_a_ms : c.wall_b_ms) ?? undefined) : undefined) })));
  return (
    <SortTable id="runs" rows={rows} sort="" columns={[
      { key: "side", label: "Side", text: true, value: (r) => r.side },
      { key: "name", label: "Source", text: true, value: (r) => r.name ?? "" },
      { key: "run", label: "Run", text: true, value: (r) => r.run_id },
      { key: "model", label: "Model", text: true, value: (r) => r.model ?? "" },
      { key: "device", label: "Device", text: true, value: (r) => r.device ?? "" },
      { key: "wall", label: "Wall", value: (r) => r.wall, show: (r) => ms(r.wall) },
    ]} />
  );
}

function Shifts({ shifts }: { shifts: Comparison["shifts"] }) {
  return (
    <ul>
      {shifts.map((s, i) => <li key={i}><b>{ms(s.ms)}</b> moved from {cut(s.from, 100)} to {cut(s.to, 100)}{placeText(s) && <span class="muted"> in {placeText(s)}</span>}</li>)}
    </ul>
  );
}

function sectionsOf(c: Comparison): SectionInfo[] {
  const out: SectionInfo[] = [];
  const names = { a: sideName(c, "a"), b: sideName(c, "b") };
  const add = (id: string, title: string, there: unknown, body: () => ComponentChildren) => {
    if (there) out.push({ id, title, body: body() });
  };
  add("waterfall", "From A to B", true, () => <Waterfall comparison={c} names={names} />);
  add("timelines", "Side by side", (c.timeline?.a.start_ms.length ?? 0) + (c.timeline?.b.start_ms.length ?? 0) > 0, () => <PairTimeline comparison={c} names={names} />);
  add("flame", "Flame graph of the difference", c.flame?.device || c.flame?.host, () => <FlameDiff flame={c.flame!} />);
  add("tables", "Tables", TABLES.some(([, , key]) => c[key].length > 0), () => <Tables comparison={c} />);
  add("shifts", "Moved, not changed", c.shifts.length, () => <Shifts shifts={c.shifts} />);
  add("counters", "Counters", c.counters?.length, () => <Counters counters={c.counters!} />);
  add("likeness", "Likeness", c.fingerprint?.divergent.length, () => <Likeness comparison={c} />);
  add("runs", "The runs", c.runs, () => <Runs comparison={c} />);
  return out;
}

const titleOf = (c: Comparison) => `${cut(sideName(c, "a"), 50)} → ${cut(sideName(c, "b"), 50)}`;

function Notes({ comparison: c }: { comparison: Comparison }) {
  if (c.comparability.length === 0) return null;
  return (
    <div class="loss">
      <b>Not the same in both runs</b>
      <ul>{c.comparability.map((n, i) => <li key={i}>{cut(n.what, 80)}: {cut(n.a ?? "–", 80)} → {cut(n.b ?? "–", 80)}{n.consequence && <span class="muted">. {cut(n.consequence, 300)}</span>}</li>)}</ul>
    </div>
  );
}

function App({ comparison: c }: { comparison: Comparison }) {
  const kind = ["regressed", "improved", "same", "undecided"].includes(c.verdict.class) ? c.verdict.class : "undecided";
  const time = c.options?.time === "device" ? "device time" : "wall";
  const where = [c.options?.stage, c.options?.step != null ? `instance ${c.options.step}` : null].filter(Boolean).join(", ");
  const hero = (
    <>
      <p class="what">{titleOf(c)}{where && `, only ${cut(where, 80)}`}</p>
      <p class={`verdict ${kind}`}>{kind}{c.verdict.confidence != null && c.verdict.confidence > 0 && kind !== "undecided" ? `, confidence ${pct(c.verdict.confidence, 0)}` : ""}</p>
      <h1 id="verdict">{cut(c.verdict.text || `${ms(c.wall_a_ms)} → ${ms(c.wall_b_ms)}`, 800)}</h1>
      <dl class="tiles">
        <div><dt>A, {time}</dt><dd>{ms(c.wall_a_ms)}</dd></div>
        <div><dt>B, {time}</dt><dd>{ms(c.wall_b_ms)}</dd></div>
        <div class={(c.delta_ms ?? 0) > 0 ? "slower" : "faster"}><dt>B − A</dt><dd>{signedMs(c.delta_ms)} <small>{signedPct(ratio(c.wall_a_ms, c.wall_b_ms))}</small></dd></div>
        {c.normalised_by && <div><dt>per {cut(c.normalised_by, 40)}</dt><dd>{ms(c.normal_a_ms)} → {ms(c.normal_b_ms)}</dd></div>}
        <div><dt>similarity</dt><dd>{c.similarity == null ? "–" : c.similarity.toFixed(3)}</dd></div>
        <div><dt>matched of A, of B</dt><dd>{pct(c.matched_share_a, 0)}, {pct(c.matched_share_b, 0)}</dd></div>
        {c.drift != null && Math.abs(c.drift - 1) > 0.001 && <div title="Host speed in work that did not change; not a cause"><dt>host drift</dt><dd>{signedPct(c.drift - 1)}</dd></div>}
        {c.verdict.more_runs_needed != null && <div><dt>more runs needed</dt><dd>{count(c.verdict.more_runs_needed)} a side</dd></div>}
      </dl>
      <Notes comparison={c} />
    </>
  );
  return <Shell sections={sectionsOf(c)} hero={hero} footer={`Written by NeuroLens from runs ${c.run_a} and ${c.run_b}. Everything is in this file; it loads nothing.`} />;
}

startPage<Comparison>("This is the empty page; neurolens compare puts two runs into it.", titleOf, (comparison) => <App comparison={comparison} />);
