// SPDX-License-Identifier: Apache-2.0
// The report page: shows the sections that the model has.
import type { ComponentChildren } from "preact";
import { FlameSection } from "./flame";
import { count, cut, ms, pct } from "./format";
import type { Report } from "./model";
import { RooflineSection } from "./roofline";
import { Breakdown, Copies, CriticalPathView, Devices, Environment, Findings, Idle, Kernels, Launches, MemoryView, Operators, Stages, TotalsTable } from "./sections";
import type { SectionInfo } from "./shell";
import { Shell, startPage } from "./shell";
import { TimelineSection } from "./timeline";

function sectionsOf(r: Report): SectionInfo[] {
  const out: SectionInfo[] = [];
  const add = (id: string, title: string, there: unknown, body: () => ComponentChildren) => {
    if (there) out.push({ id, title, body: body() });
  };
  const attribution = (r as any).attribution ?? {};
  add("time", "Where the time went", r.breakdown.length, () => <><Breakdown parts={r.breakdown} />{r.devices.length > 0 && <Devices devices={r.devices} />}</>);
  add("findings", "Findings", r.findings, () => <Findings section={r.findings!} />);
  add("timeline", "Timeline", r.timeline?.lanes?.length, () => <TimelineSection timeline={r.timeline} />);
  add("stages", "Stages", r.stages?.stages?.length, () => <Stages stages={r.stages!.stages!} ttft={r.stages!.ttft_ms} tpot={r.stages!.tpot_ms} />);
  add("operators", "Operators", r.operators.length, () => <Operators rows={r.operators} total={r.operators_total} />);
  add("kernels", "Kernels", r.kernels.length, () => <Kernels rows={r.kernels} total={r.kernels_total} />);
  add("flame", "Flame graph", r.flame?.nodes?.length, () => <FlameSection nodes={r.flame!.nodes!} />);
  add("roofline", "Roofline", r.roofline?.points?.length, () => <RooflineSection points={r.roofline!.points!} peaks={r.roofline!.peaks} reason={r.roofline!.peaks_reason} />);
  add("path", "Critical path", r.critical_path?.shares?.some((s) => s.ms > 0), () => <CriticalPathView path={r.critical_path!} />);
  add("idle", "Why the device was idle", r.idle?.causes?.length || (r.idle && r.devices.length), () => <Idle idle={r.idle!} />);
  add("launches", "Launches", r.launch?.launches, () => <Launches launch={r.launch!} />);
  add("modules", "Modules", attribution.modules?.length, () => <TotalsTable id="modules" label="Module" rows={attribution.modules} />);
  add("ranges", "Labelled ranges", attribution.ranges?.length, () => <TotalsTable id="ranges" label="Range" rows={attribution.ranges} />);
  add("copies", "Copies", r.copies.length, () => <Copies report={r} />);
  add("memory", "Memory", r.memory?.peaks?.length, () => <MemoryView memory={r.memory!} />);
  add("run", "What ran", true, () => <Environment report={r} />);
  add("glossary", "Glossary", r.glossary?.length, () => (
    <dl class="glossary">{r.glossary.map((g) => <div key={g.name}><dt>{g.name} <span class="muted">{g.unit}</span></dt><dd>{g.meaning}</dd></div>)}</dl>
  ));
  return out;
}

function titleOf(r: Report): string {
  const { model = {}, hardware = {} } = r.run.environment;
  const devices = hardware.devices ?? [];
  const name = cut(model.name || `run ${r.generated_from}`, 80);
  return devices[0]?.name ? `${name} on ${devices.length > 1 ? `${devices.length} × ` : ""}${cut(devices[0].name, 60)}` : name;
}

function Losses({ report }: { report: Report }) {
  const reasons = report.run.counters.reasons.filter((c) => c.severity !== "info");
  const overhead = report.run.overhead_pct;
  return (
    <>
      {reasons.map((c, i) => (
        <p key={i} class={`loss ${c.severity === "data_loss" || c.severity === "error" ? "bad" : ""}`}>
          <b>{c.severity === "data_loss" ? "Data loss" : c.severity === "error" ? "Error" : "Notice"}</b> {count(c.count)} × {cut(c.name, 80)}. {cut(c.advice ?? "", 300)}
        </p>
      ))}
      {overhead != null && overhead > 5 && <p class="loss">The profiler slowed the run by {overhead.toFixed(1)} %: times here are that much too long.</p>}
    </>
  );
}

function App({ report: r }: { report: Report }) {
  const shareOf = (choose: (p: Report["breakdown"][number]) => boolean) => r.breakdown.filter(choose).reduce((s, p) => s + p.share, 0);
  const recorded = 1 - shareOf((p) => p.what === "paused");
  const busy = recorded > 0 ? shareOf((p) => !p.idle) / recorded : 0;
  const hero = (
    <>
      <p class="what">{titleOf(r)}</p>
      <h1 id="verdict">{cut(r.verdict, 800)}</h1>
      <dl class="tiles">
        <div><dt>wall time</dt><dd>{ms(r.wall_ms)}</dd></div>
        {recorded < 0.9995 && <div><dt>of it recorded</dt><dd>{pct(recorded)}</dd></div>}
        {r.devices.length > 0 && <div><dt>{r.devices.length > 1 ? `${r.devices.length} GPUs busy` : "GPU busy"}</dt><dd>{pct(busy)}</dd></div>}
        <div><dt>operators</dt><dd>{count(r.operators_total)}</dd></div>
        <div><dt>kernels</dt><dd>{count(r.kernels_total)}</dd></div>
        {r.findings?.findings && <div><dt>findings</dt><dd>{r.findings.findings.length}</dd></div>}
      </dl>
      <Losses report={r} />
    </>
  );
  return <Shell sections={sectionsOf(r)} hero={hero} footer={`Written by NeuroLens from run ${r.generated_from}. Everything is in this file; it loads nothing.`} />;
}

startPage<Report>("This is the empty page; neurolens report puts a run into it.", titleOf, (report) => <App report={report} />);
