// SPDX-License-Identifier: Apache-2.0
// One change in full: what it is made of, and the evidence in both runs.
import type { CompareEvidence, Contribution, ContributionPart } from "../data/replies";
import { EvidenceList } from "../widgets/evidence";
import { cut, ms } from "../widgets/format";
import { SortTable } from "../widgets/table";
import { callsText, confidenceText, pairText, significanceText } from "./contribution_text";
import { signedMs } from "./delta";

function Parts({ id, parts }: { id: string; parts: ContributionPart[] }) {
  return (
    <SortTable
      id={id}
      rows={parts}
      sort="delta"
      columns={[
        { key: "op", label: "Operator", text: true, value: (p) => p.op || p.change || "–" },
        { key: "kernel", label: "Kernel", text: true, value: (p) => pairText(p.kernel_a, p.kernel_b) },
        { key: "shapes", label: "Shapes", text: true, value: (p) => pairText(p.shapes_a, p.shapes_b) },
        { key: "calls", label: "Calls", value: (p) => p.count_b, show: callsText },
        { key: "a", label: "A", value: (p) => p.a_ms, show: (p) => ms(p.a_ms) },
        { key: "b", label: "B", value: (p) => p.b_ms, show: (p) => ms(p.b_ms) },
        {
          key: "delta",
          label: "B − A",
          value: (p) => Math.abs(p.delta_ms ?? 0),
          show: (p) => signedMs(p.delta_ms),
          title: "Sorted by size, regardless of sign",
        },
      ]}
    />
  );
}

function Facts({ c }: { c: Contribution }) {
  const effects: [name: string, value: string][] = [
    ["A", ms(c.a_ms)],
    ["B", ms(c.b_ms)],
    ["from the number of calls", signedMs(c.count_effect_ms)],
    ["from their speed", signedMs(c.speed_effect_ms)],
    ["from idle time", signedMs(c.idle_effect_ms)],
  ];
  return (
    <p class="facts">
      {effects.map(([name, value]) => (
        <span key={name}>
          {name} <b>{value}</b>
        </span>
      ))}
      <span>
        device time {ms(c.busy_a_ms)} → {ms(c.busy_b_ms)}
      </span>
      <span>{callsText(c)} calls</span>
      {c.confidence !== null && c.merged === 0 && <span>confidence {confidenceText(c)}</span>}
      {c.p_value !== null && <span>p {c.p_value < 1e-4 ? "< 0.0001" : c.p_value.toPrecision(2)}</span>}
      <span class="muted">{significanceText(c)}</span>
    </p>
  );
}

function Changed({ name, a, b }: { name: string; a: string | null; b: string | null }) {
  if (!a || !b || a === b) return null;
  return (
    <p class="note">
      {name} {cut(pairText(a, b), 400)}
    </p>
  );
}

function SideEvidence({ side, evidence }: { side: string; evidence: CompareEvidence[] }) {
  if (evidence.length === 0) return null;
  return (
    <div>
      <b>Evidence in {side}</b>
      <EvidenceList evidence={evidence} />
    </div>
  );
}

export function ContributionDetails({ contribution: c }: { contribution: Contribution }) {
  return (
    <div class="opened">
      {c.text && <p class="message">{cut(c.text, 1200)}</p>}
      <Facts c={c} />
      <Changed name="Kernel" a={c.kernel_a} b={c.kernel_b} />
      <Changed name="Shapes" a={c.shapes_a} b={c.shapes_b} />
      {c.parts.length > 0 && <Parts id={`parts-${c.rank}`} parts={c.parts} />}
      <div class="evidence">
        <SideEvidence side="A" evidence={c.evidence_a} />
        <SideEvidence side="B" evidence={c.evidence_b} />
      </div>
    </div>
  );
}
