// SPDX-License-Identifier: Apache-2.0
// The smaller sections of the report, each from one member of the model.
import type { ComponentChildren } from "preact";
import { useWidth } from "./canvas";
import { focusRow } from "./focus";
import { bytes, count, cut, ms, pct, plain, short3, us } from "./format";
import type { CriticalPath, Device, Diagnosis, Evidence, Finding, FindingsSection, IdleSection, LaunchSection, Memory, NameRow, Part, Report, Stage } from "./model";
import { SortTable } from "./table";

const PART_COLOR: Record<string, string> = {
  compute: "--cat-compute", communication: "--cat-communication", memory: "--cat-memory", overlap: "--cat-overlap", idle: "--idle-1",
  idle_host: "--idle-1", idle_launch: "--idle-2", idle_sync: "--idle-3", idle_other: "--idle-4", idle_edges: "--idle-5", paused: "--idle-5",
  op: "--cat-op", python: "--cat-python", range: "--cat-range", api: "--cat-api", nothing: "--idle-4",
};
const partColor = (what: string) => `var(${PART_COLOR[what] ?? "--idle-4"})`;

interface Slice { key: string; label: string; ms: number; share: number; color: string }

function StackedBar({ slices, name }: { slices: Slice[]; name: string }) {
  return (
    <div>
      <div class="stack" role="img" aria-label={name}>
        {slices.map((s) => (
          <span key={s.key} style={{ flexGrow: s.share, background: s.color }} title={`${s.label}: ${ms(s.ms)}, ${pct(s.share)}`}>
            {s.share > 0.07 ? pct(s.share, 0) : ""}
          </span>
        ))}
      </div>
      <table class="parts">
        <tbody>
          {slices.map((s) => (
            <tr key={s.key}>
              <td><i style={{ background: s.color }} />{cut(s.label, 120)}</td>
              <td class="num">{ms(s.ms)}</td>
              <td class="num">{pct(s.share)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function Breakdown({ parts }: { parts: Part[] }) {
  return <StackedBar name="Where the time went" slices={parts.map((p) => ({ key: p.what, label: p.label, ms: p.ms, share: p.share, color: partColor(p.what) }))} />;
}

export function Devices({ devices }: { devices: Device[] }) {
  return (
    <SortTable id="devices" rows={devices} sort="busy" columns={[
      { key: "device", label: "Device", text: true, value: (d) => `${d.rank != null ? `rank ${d.rank} ` : ""}GPU ${d.index ?? ""} ${d.name ?? ""}` },
      { key: "util", label: "Utilization", value: (d) => d.utilization, show: (d) => pct(d.utilization) },
      { key: "busy", label: "Busy", value: (d) => d.busy_ms, show: (d) => ms(d.busy_ms) },
      { key: "idle", label: "Idle", value: (d) => d.idle_ms, show: (d) => ms(d.idle_ms) },
      { key: "compute", label: "Compute", value: (d) => d.compute_ms, show: (d) => ms(d.compute_ms) },
      { key: "comm", label: "Communication", value: (d) => d.communication_ms, show: (d) => ms(d.communication_ms) },
      { key: "memory", label: "Memory", value: (d) => d.memory_ms, show: (d) => ms(d.memory_ms) },
      { key: "overlap", label: "Overlap", value: (d) => d.overlap_ms, show: (d) => ms(d.overlap_ms) },
    ]} />
  );
}

function shownValue(value: unknown, unit?: string | null): string {
  if (value == null) return "";
  if (typeof value === "number") {
    if (unit === "ratio") return pct(value);
    if (unit === "ms") return ms(value);
    return unit === "count" || !unit ? count(Number(value.toPrecision(6))) : `${short3(value)} ${unit}`;
  }
  return cut(typeof value === "string" ? value : JSON.stringify(value), 120);
}

export function EvidenceItem({ evidence }: { evidence: Evidence }) {
  const value = shownValue(evidence.value, evidence.unit);
  const scope = /^(run|op|kernel|stage|features)\./.exec(evidence.what ?? "");
  const what = scope ? plain(evidence.what!.slice(scope[0].length)) : (evidence.what ?? "");
  const place = evidence.table ? `${evidence.table}${evidence.row != null ? ` row ${evidence.row}` : ""}` : "";
  return <li>{cut(what, 200)}{value && <> <b>{value}</b></>}{place && <span class="muted"> ({place})</span>}</li>;
}

function RowLink({ table, name }: { table: "operators" | "kernels"; name: string }) {
  return (
    <a href={`#${table}`} class="rowlink" onClick={(e) => { e.preventDefault(); focusRow({ table, name }); }}>{cut(name, 90)}</a>
  );
}

function FindingCard({ finding: f, number }: { finding: Finding; number: number }) {
  const where: ComponentChildren[] = [];
  if (f.stage) where.push(<span key="s">stage {cut(f.stage, 60)}</span>);
  if (f.module) where.push(<span key="m">module {cut(f.module, 90)}</span>);
  if (f.op) where.push(<span key="o">operator <RowLink table="operators" name={f.op} /></span>);
  if (f.kernel) where.push(<span key="k">kernel <RowLink table="kernels" name={f.kernel} /></span>);
  return (
    <article class={`finding ${["low", "medium", "high"].includes(f.severity) ? f.severity : "low"}`} id={`finding-${number}`}>
      <h3><span class="badge">{cut(f.severity, 20)}</span>{f.title ? cut(f.title[0].toUpperCase() + f.title.slice(1), 200) : cut(f.message, 600)}</h3>
      {f.title && <p class="message">{cut(f.message, 800)}</p>}
      <p class="facts">
        {f.impact_ms != null && f.impact_ms > 0 && <span>costs at most <b>{ms(f.impact_ms)}</b></span>}
        {f.impact_ms != null && f.impact_ms <= 0 && f.counted_in && f.counted_in.length > 0 && <span>its cost is counted in {cut(f.counted_in.join(", "), 120)}</span>}
        {f.confidence != null && <span>confidence {pct(f.confidence, 0)}</span>}
        {where}
        <span class="muted">{cut(f.rule, 80)}</span>
      </p>
      {f.suggestions && f.suggestions.length > 0 && <ol>{f.suggestions.map((s, i) => <li key={i}>{cut(s, 800)}</li>)}</ol>}
      {f.refs?.map((ref) => <p key={ref} class="note">{/^https:\/\//.test(ref) ? <a href={ref} rel="noreferrer noopener">{cut(ref, 120)}</a> : cut(ref, 200)}</p>)}
      {f.evidence && f.evidence.length > 0 && (
        <details><summary>Evidence ({f.evidence.length})</summary><ul>{f.evidence.slice(0, 50).map((e, i) => <EvidenceItem key={i} evidence={e} />)}</ul></details>
      )}
    </article>
  );
}

export function DiagnosisLine({ diagnosis }: { diagnosis: Diagnosis }) {
  return (
    <div class="diagnosis">
      <p>Diagnosis: <b>{plain(cut(diagnosis.class, 60))}</b>{diagnosis.confidence != null && <>, confidence {pct(diagnosis.confidence, 0)}</>}</p>
      {diagnosis.settle && diagnosis.settle.length > 0 && <p class="note">What would settle it: {cut(diagnosis.settle.join("; "), 500)}</p>}
      {diagnosis.evidence && diagnosis.evidence.length > 0 && (
        <ul>{diagnosis.evidence.slice(0, 12).map((e, i) => typeof e === "string" ? <li key={i}>{cut(e, 300)}</li> : <EvidenceItem key={i} evidence={e} />)}</ul>
      )}
    </div>
  );
}

export function Findings({ section }: { section: FindingsSection }) {
  const findings = section.findings ?? [];
  const missing = section.not_assessed ?? [];
  const tool = section.tool_findings ?? [];
  return (
    <div>
      {section.diagnosis && <DiagnosisLine diagnosis={section.diagnosis} />}
      {findings.length === 0 && <p class="note">No rule fired.</p>}
      {findings.map((f, i) => <FindingCard key={i} finding={f} number={i + 1} />)}
      {tool.length > 0 && (
        <details><summary>What {cut(tool[0]!.tool, 60)} itself suggests ({tool.length}): its words and estimates, not checked here</summary>
          <ul>{tool.slice(0, 50).map((w, i) => (
            <li key={i}><b>{cut(w.kernel, 80)}</b> [{cut(w.rule, 60)}], {ms(w.kernel_ms)}
              {w.estimated_ms != null ? <>: it estimates {ms(w.estimated_ms)} less</> : w.speedup_pct != null && <>: it estimates up to {w.speedup_pct.toFixed(0)} % less of a part</>}.
              {" "}<span class="muted">{cut(w.message, 400)}</span></li>))}</ul>
        </details>
      )}
      {missing.length > 0 && (
        <details><summary>{missing.length} rules could not be assessed</summary>
          <ul>{missing.map((m, i) => <li key={i}>{cut(m.rule, 80)}: needs {cut([m.needs ?? []].flat().join(", "), 200)}{m.advice && <span class="muted"> {cut(m.advice, 300)}</span>}</li>)}</ul>
        </details>
      )}
    </div>
  );
}

export function Stages({ stages, ttft, tpot }: { stages: Stage[]; ttft?: number | null; tpot?: number | null }) {
  return (
    <div>
      {(ttft != null || tpot != null) && (
        <p class="facts">{ttft != null && <span>time to first token <b>{ms(ttft)}</b></span>}{tpot != null && <span>time per further token <b>{ms(tpot)}</b></span>}</p>
      )}
      <SortTable id="stages" rows={stages} sort="total" columns={[
        { key: "stage", label: "Stage", text: true, value: (s) => s.name + (s.inferred ? " (inferred)" : "") },
        { key: "count", label: "Count", value: (s) => s.count, show: (s) => count(s.count) },
        { key: "total", label: "Total", value: (s) => s.total_ms, show: (s) => ms(s.total_ms) },
        { key: "p50", label: "p50", value: (s) => s.p50_ms, show: (s) => ms(s.p50_ms) },
        { key: "p95", label: "p95", value: (s) => s.p95_ms, show: (s) => ms(s.p95_ms) },
        { key: "p99", label: "p99", value: (s) => s.p99_ms, show: (s) => ms(s.p99_ms) },
        { key: "tps", label: "Tokens/s", value: (s) => s.tokens_per_s, show: (s) => short3(s.tokens_per_s) },
        { key: "kernels", label: "Kernels", value: (s) => s.kernels, show: (s) => count(s.kernels) },
        { key: "launch", label: "Launch", value: (s) => s.launch_share, show: (s) => pct(s.launch_share) },
        { key: "idle", label: "Idle", value: (s) => s.idle_share, show: (s) => pct(s.idle_share) },
        { key: "mfu", label: "MFU", value: (s) => s.mfu, show: (s) => pct(s.mfu), title: "Model FLOPs / (dense peak x time)" },
        { key: "mbu", label: "MBU", value: (s) => s.mbu, show: (s) => pct(s.mbu), title: "Bytes a step must read / (bandwidth x time)" },
      ]} />
      {[...new Set(stages.flatMap((s) => [s.mfu == null ? s.mfu_reason : null, s.mbu == null ? s.mbu_reason : null]).filter(Boolean))].slice(0, 4).map((why) => <p class="note" key={why!}>Not assessed: {cut(why!, 300)}</p>)}
      {stages.some((s) => s.peak?.source) && <p class="note">Peaks: {cut(stages.find((s) => s.peak?.source)!.peak!.source!, 200)}.</p>}
    </div>
  );
}

export function Operators({ rows, total }: { rows: NameRow[]; total: number }) {
  return (
    <SortTable id="operators" rows={rows} total={total} sort="gpu" filter names={(r) => [r.name, r.raw_name]} columns={[
      { key: "name", label: "Operator", text: true, value: (r) => r.name },
      { key: "gpu", label: "GPU", value: (r) => r.gpu_ms, show: (r) => ms(r.gpu_ms) },
      { key: "share", label: "Share", value: (r) => r.share, show: (r) => pct(r.share) },
      { key: "total", label: "Total", value: (r) => r.total_ms, show: (r) => ms(r.total_ms) },
      { key: "self", label: "Self", value: (r) => r.self_ms, show: (r) => ms(r.self_ms) },
      { key: "calls", label: "Calls", value: (r) => r.calls, show: (r) => count(r.calls) },
      { key: "mean", label: "Mean", value: (r) => r.mean_ms, show: (r) => ms(r.mean_ms) },
      { key: "p95", label: "p95", value: (r) => r.p95_ms, show: (r) => ms(r.p95_ms) },
    ]} />
  );
}

export function Kernels({ rows, total }: { rows: NameRow[]; total: number }) {
  return (
    <SortTable id="kernels" rows={rows} total={total} sort="total" filter names={(r) => [r.name, r.raw_name]}
      detail={(r) => (r.raw_name !== r.name ? r.raw_name : null)} columns={[
        { key: "name", label: "Kernel", text: true, value: (r) => r.name },
        { key: "family", label: "Family", text: true, value: (r) => r.family ?? "" },
        { key: "device", label: "Device", value: (r) => r.device ?? -1, show: (r) => (r.device == null ? "all" : r.device) },
        { key: "total", label: "Total", value: (r) => r.total_ms, show: (r) => ms(r.total_ms) },
        { key: "share", label: "Share", value: (r) => r.share, show: (r) => pct(r.share) },
        { key: "calls", label: "Calls", value: (r) => r.calls, show: (r) => count(r.calls) },
        { key: "mean", label: "Mean", value: (r) => r.mean_ms, show: (r) => ms(r.mean_ms) },
        { key: "p95", label: "p95", value: (r) => r.p95_ms, show: (r) => ms(r.p95_ms) },
      ]} />
  );
}

export function Copies({ report }: { report: Report }) {
  return (
    <SortTable id="copies" rows={report.copies} sort="total" columns={[
      { key: "kind", label: "Copy", text: true, value: (c) => c.kind },
      { key: "from", label: "From", text: true, value: (c) => c.from },
      { key: "to", label: "To", text: true, value: (c) => c.to },
      { key: "total", label: "Time", value: (c) => c.total_ms, show: (c) => ms(c.total_ms) },
      { key: "calls", label: "Calls", value: (c) => c.calls, show: (c) => count(c.calls) },
      { key: "bytes", label: "Bytes", value: (c) => c.bytes, show: (c) => bytes(c.bytes) },
      { key: "rate", label: "GB/s", value: (c) => (c.total_ms > 0 ? c.bytes / c.total_ms / 1e6 : null), show: (c) => (c.total_ms > 0 ? short3(c.bytes / c.total_ms / 1e6) : "–") },
    ]} />
  );
}

interface Totals { name: string; calls: number; kernels: number; host_total_ms: number; host_self_ms: number; gpu_total_ms: number; gpu_self_ms: number }
export function TotalsTable({ id, label, rows }: { id: string; label: string; rows: Totals[] }) {
  return (
    <SortTable id={id} rows={rows} sort="gpu" filter columns={[
      { key: "name", label, text: true, value: (r) => r.name },
      { key: "gpu", label: "GPU", value: (r) => r.gpu_total_ms, show: (r) => ms(r.gpu_total_ms) },
      { key: "gpuself", label: "GPU self", value: (r) => r.gpu_self_ms, show: (r) => ms(r.gpu_self_ms) },
      { key: "host", label: "Host", value: (r) => r.host_total_ms, show: (r) => ms(r.host_total_ms) },
      { key: "hostself", label: "Host self", value: (r) => r.host_self_ms, show: (r) => ms(r.host_self_ms) },
      { key: "calls", label: "Calls", value: (r) => r.calls, show: (r) => count(r.calls) },
      { key: "kernels", label: "Kernels", value: (r) => r.kernels, show: (r) => count(r.kernels) },
    ]} />
  );
}

export function Idle({ idle }: { idle: IdleSection }) {
  const causes = idle.causes ?? [];
  return (
    <div>
      <p class="facts">
        <span>waiting for the host <b>{ms(idle.host_ms)}</b></span><span>launch latency <b>{ms(idle.launch_ms)}</b></span>
        <span>synchronisation <b>{ms(idle.sync_ms)}</b></span><span>other <b>{ms(idle.other_ms)}</b></span>
        {idle.gap_count != null && <span>{count(idle.gap_count)} gaps</span>}
        {idle.floor_us != null && <span>shortest launch latency {us(idle.floor_us)}</span>}
      </p>
      {causes.length > 0 && (
        <SortTable id="idle" rows={causes} sort="ms" columns={[
          { key: "what", label: "What the host was doing", text: true, value: (c) => plain(c.what) },
          { key: "name", label: "Where", text: true, value: (c) => c.name ?? "" },
          { key: "ms", label: "Idle time", value: (c) => c.ms, show: (c) => ms(c.ms) },
          { key: "share", label: "Share", value: (c) => c.share, show: (c) => pct(c.share) },
        ]} />
      )}
    </div>
  );
}

export function Launches({ launch }: { launch: LaunchSection }) {
  const cells: [string, string][] = [
    ["launches", count(launch.launches)], ["call, median", us(launch.api_p50_us)], ["call, p95", us(launch.api_p95_us)],
    ["queue delay, median", us(launch.queue_delay_p50_us)], ["kernels shorter than their launch", pct(launch.launch_bound_share)],
    ["longest queue", count(launch.queue_max)], ["queue delay, sum", ms(launch.transition_ms)],
  ];
  return <dl class="tiles">{cells.map(([k, v]) => <div key={k}><dt>{k}</dt><dd>{v}</dd></div>)}</dl>;
}

function PathStrip({ strip, shade }: { strip: NonNullable<CriticalPath["strip"]>; shade: (name: string) => string }) {
  const [box, width] = useWidth();
  const height = 44;
  const bins = strip.classes[0]?.share.length ?? 0;
  const base = new Float64Array(bins);
  const step = width / Math.max(1, bins);
  return (
    <div class="path" ref={box}>
      {width > 0 && (
        <svg width={width} height={height} role="img" aria-label="The critical path in time">
          {strip.classes.map((c) => {
            let shape = "";
            c.share.forEach((share, i) => {
              if (share > 0) shape += `M${(i * step).toFixed(2)} ${(height * (1 - base[i])).toFixed(2)}h${(step + 0.3).toFixed(2)}v${(-height * share).toFixed(2)}h${(-step - 0.3).toFixed(2)}z`;
              base[i] += share;
            });
            return <path key={c.class} d={shape} style={{ fill: shade(c.class) }}><title>{plain(c.class)}</title></path>;
          })}
        </svg>
      )}
      <p class="note">The mix over time, from the start of the run to its end ({ms(strip.bin_ms)} a column).</p>
    </div>
  );
}

const CLASS_COLOR = ["--hue-0", "--hue-1", "--hue-2", "--hue-3", "--hue-4", "--hue-5", "--hue-6", "--hue-7", "--hue-8", "--hue-9"];
export function CriticalPathView({ path }: { path: CriticalPath }) {
  const shares = (path.shares ?? []).filter((s) => s.ms > 0);
  const shade = (name: string) => `var(${CLASS_COLOR[Math.max(0, shares.findIndex((s) => s.class === name)) % 10]})`;
  return (
    <div>
      <StackedBar name="Bound by" slices={shares.map((s) => ({ key: s.class, label: plain(s.class), ms: s.ms, share: s.share, color: shade(s.class) }))} />
      {path.strip && <PathStrip strip={path.strip} shade={shade} />}
      {path.contributors && path.contributors.length > 0 && (
        <SortTable id="path" rows={path.contributors} sort="ms" columns={[
          { key: "name", label: "Longest on the path", text: true, value: (t) => t.name ?? "" },
          { key: "class", label: "Class", text: true, value: (t) => plain(t.class) },
          { key: "ms", label: "Time", value: (t) => t.ms, show: (t) => ms(t.ms) },
          { key: "share", label: "Share", value: (t) => t.share, show: (t) => pct(t.share) },
        ]} />
      )}
    </div>
  );
}

export function MemoryView({ memory }: { memory: Memory }) {
  const [box, width] = useWidth();
  const height = 140;
  const top = Math.max(1, ...memory.peaks.map((p) => p.allocated_bytes));
  const end = Math.max(1e-9, ...memory.series.map((s) => s.at_ms[s.at_ms.length - 1] ?? 0));
  return (
    <div>
      <p class="facts">{memory.peaks.map((p) => <span key={p.device}>GPU {p.device}: peak <b>{bytes(p.allocated_bytes)}</b> allocated, {bytes(p.reserved_bytes)} reserved</span>)}</p>
      <div ref={box}>
        {width > 0 && (
          <svg width={width} height={height} role="img" aria-label="Allocated device memory over time">
            {memory.series.map((s, i) => (
              <polyline key={i} class="line" style={{ stroke: `var(--hue-${i % 10})` }} fill="none"
                points={s.at_ms.map((at, k) => `${((at / end) * (width - 2) + 1).toFixed(1)},${(height - 2 - (s.allocated_bytes[k] / top) * (height - 20)).toFixed(1)}`).join(" ")} />
            ))}
            <text x={2} y={11}>{bytes(top)}</text>
          </svg>
        )}
      </div>
    </div>
  );
}

function Facts({ rows }: { rows: [string, unknown][] }) {
  const shown = rows.filter(([, v]) => v !== null && v !== undefined && v !== "");
  return <table class="env"><tbody>{shown.map(([k, v], i) => <tr key={i}><th>{k}</th><td>{cut(String(v), 500)}</td></tr>)}</tbody></table>;
}

export function Environment({ report }: { report: Report }) {
  const { hardware = {}, software = {}, model = {} } = report.run.environment;
  const { source = {}, created_at, notes, tags } = report.run.provenance ?? {};
  const rows: [string, unknown][] = [["Run", report.generated_from], ["Model", model.name], ["Parameters, millions", model.parameters_millions], ["Batch", model.batch_size]];
  for (const d of hardware.devices ?? []) rows.push(["Device", `${d.index ?? ""} ${d.name ?? ""}${d.memory_gb ? `, ${short3(d.memory_gb)} GB` : ""}${d.sm_count ? `, ${d.sm_count} SMs` : ""}`]);
  rows.push(["CPU", hardware.host?.cpu_model], ["OS", hardware.host?.os], ["Backend", [software.backend, software.version].filter(Boolean).join(" ")],
    ["Precision", software.precision], ["CUDA or ROCm", software.cuda_version], ["Python", software.python_version]);
  for (const f of source.files ?? []) rows.push(["Source", `${f.name} (${bytes(f.bytes)}, sha256 ${String(f.sha256 ?? "").slice(0, 12)})`]);
  rows.push(["Profiler", [source.tool, source.tool_version].filter(Boolean).join(" ")], ["Read by", [source.adapter, source.adapter_version].filter(Boolean).join(" ")],
    ["Command", Array.isArray(source.command) ? source.command.join(" ") : null], ["Stored at", created_at],
    ["Profiler overhead", report.run.overhead_pct == null ? "not recorded" : `${short3(report.run.overhead_pct)} %`], ["Lost records", count(report.run.counters.lost)]);
  for (const [k, v] of Object.entries(tags ?? {})) rows.push([`Tag ${cut(k, 40)}`, v]);
  for (const n of notes ?? []) rows.push(["Note", n]);
  return <Facts rows={rows} />;
}
