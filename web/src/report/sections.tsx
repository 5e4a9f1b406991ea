// SPDX-License-Identifier: Apache-2.0
// The sections of the report page, in order. A section that the run has nothing for is left out.
import type { ComponentChildren } from "preact";
import type { CallTotals, GlossaryTerm, ReportDocument } from "../data/replies";
import { TimelineView } from "../timeline/timeline";
import { RooflineView } from "../widgets/roofline";
import type { SectionInfo } from "../widgets/shell";
import { Breakdown, Devices } from "./breakdown";
import { CriticalPathView } from "./critical_path";
import { Environment } from "./environment";
import { Findings } from "./findings";
import { FlameView } from "./flame";
import { IdleView, Launches } from "./idle";
import { MemoryView } from "./memory";
import { CallTotalsTable, Copies, Kernels, Operators } from "./name_tables";
import { Samples } from "./samples";
import { Stages } from "./stages";
import { StartupView, showsStartup } from "./startup";
import "./glossary.css";

// Titles that are too long for the header.
const LINKS: Record<string, string> = { time: "Time", flame: "Flame", path: "Path", idle: "Idle", ranges: "Ranges" };

function Glossary({ terms }: { terms: GlossaryTerm[] }) {
  return (
    <dl class="glossary">
      {terms.map((g) => (
        <div key={g.name}>
          <dt>
            {g.name} <span class="muted">{g.unit}</span>
          </dt>
          <dd>{g.meaning}</dd>
        </div>
      ))}
    </dl>
  );
}

function Time({ report: r }: { report: ReportDocument }) {
  return (
    <>
      <Breakdown parts={r.breakdown} wall_ms={r.wall_ms} />
      {r.devices.length > 0 && <Devices devices={r.devices} />}
    </>
  );
}

function totalsOf(id: string, label: string, rows: CallTotals[] = []) {
  return rows.length > 0 && <CallTotalsTable id={id} label={label} rows={rows} />;
}

export function sectionsOf(r: ReportDocument): SectionInfo[] {
  const { roofline } = r;
  const idle = r.devices.length > 0 ? r.idle : undefined;
  const path = r.critical_path?.shares.some((s) => s.ms > 0) ? r.critical_path : undefined;
  const launch = r.launch && r.launch.launches > 0 ? r.launch : undefined;
  const all: [id: string, title: string, body: ComponentChildren][] = [
    ["time", "Where the time went", r.breakdown.length > 0 && <Time report={r} />],
    ["findings", "Findings", <Findings key="findings" section={r.findings} />],
    ["startup", "Start-up", showsStartup(r.startup) && <StartupView startup={r.startup} />],
    ["timeline", "Timeline", r.timeline.lanes.length > 0 && <TimelineView timeline={r.timeline} />],
    ["stages", "Stages", r.stages.stages.length > 0 && <Stages section={r.stages} />],
    ["operators", "Operators", r.operators.length > 0 && <Operators rows={r.operators} total={r.operators_total} />],
    ["kernels", "Kernels", r.kernels.length > 0 && <Kernels rows={r.kernels} total={r.kernels_total} />],
    ["samples", "CPU samples", r.samples && <Samples samples={r.samples} />],
    ["flame", "Flame graph", r.flame && <FlameView nodes={r.flame.nodes} />],
    [
      "roofline",
      "Roofline",
      roofline.points.length > 0 && (
        <RooflineView points={roofline.points} peaks={roofline.peaks} reason={roofline.peaks_reason} />
      ),
    ],
    ["path", "Critical path", path && <CriticalPathView path={path} />],
    ["idle", "Device idle time", idle && <IdleView idle={idle} />],
    ["launches", "Launches", launch && <Launches launch={launch} />],
    ["modules", "Modules", totalsOf("modules", "Module", r.attribution?.modules)],
    ["ranges", "Labelled ranges", totalsOf("ranges", "Range", r.attribution?.ranges)],
    ["copies", "Copies", r.copies.length > 0 && <Copies copies={r.copies} />],
    ["memory", "Memory", r.memory && <MemoryView memory={r.memory} />],
    ["run", "Environment", <Environment key="run" report={r} />],
    ["glossary", "Glossary", r.glossary.length > 0 && <Glossary terms={r.glossary} />],
  ];
  return all.filter(([, , body]) => body).map(([id, title, body]) => ({ id, title, link: LINKS[id], body }));
}
