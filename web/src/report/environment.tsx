// SPDX-License-Identifier: Apache-2.0
// What ran, on what, recorded and read by what.
import type { HardwareDevice, ReportDocument, SourceFile } from "../data/replies";
import { bytes, count, cut, short3 } from "../widgets/format";
import "./environment.css";

type Fact = [name: string, value: string | number | null | undefined];

const joined = (...parts: (string | null | undefined)[]): string => parts.filter(Boolean).join(" ");

function deviceText(d: HardwareDevice): string {
  const facts = [`${d.index} ${d.name ?? ""}`.trim()];
  if (d.memory_gb) facts.push(`${short3(d.memory_gb)} GB`);
  if (d.sm_count) facts.push(`${d.sm_count} SMs`);
  return facts.join(", ");
}

// "2026-11-16T16:10:51.008115868Z" without the fraction.
const timeText = (rfc3339: string): string => rfc3339.replace("T", " ").replace(/(\.\d+)?Z$/, " UTC");

const fileText = (f: SourceFile): string =>
  `${f.name} (${bytes(f.bytes)}, ${f.hash ?? "sha256"} ${f.sha256.slice(0, 12)})`;

function factsOf(report: ReportDocument): Fact[] {
  const { hardware, software, model } = report.run.environment;
  const { source, created_at, notes = [], tags = {} } = report.run.provenance;
  const overhead = report.run.overhead_pct;
  return [
    ["Run", report.generated_from],
    ["Model", model.name],
    ["Parameters (millions)", model.parameters_millions],
    ["Batch size", model.batch_size],
    ...hardware.devices.map((d): Fact => ["Device", deviceText(d)]),
    ["CPU", hardware.host.cpu_model],
    ["OS", hardware.host.os],
    ["Backend", joined(software.backend, software.version)],
    ["Precision", software.precision],
    ["CUDA or ROCm", software.cuda_version],
    ["Python", software.python_version],
    ...source.files.map((f): Fact => ["Source", fileText(f)]),
    ["Profiler", joined(source.tool, source.tool_version)],
    ["Adapter", joined(source.adapter, source.adapter_version)],
    ["Command", source.command?.join(" ")],
    ["Imported", timeText(created_at)],
    ["Profiling overhead", overhead === null ? "not recorded" : `${short3(overhead)} %`],
    ["Lost records", count(report.run.counters.lost)],
    ...Object.entries(tags).map(([k, v]): Fact => [`Tag ${cut(k, 40)}`, v]),
    ...notes.map((n): Fact => ["Note", n]),
  ];
}

export function Environment({ report }: { report: ReportDocument }) {
  const shown = factsOf(report).filter(([, v]) => v !== null && v !== undefined && v !== "");
  return (
    <table class="env">
      <tbody>
        {shown.map(([name, value], i) => (
          <tr key={i}>
            <th scope="row">{name}</th>
            <td>{cut(String(value), 500)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
