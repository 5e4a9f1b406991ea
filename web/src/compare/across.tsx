// SPDX-License-Identifier: Apache-2.0
// Two devices, software versions or recording tools: device time by kernel family and by operator.
import type { AcrossRow, AcrossSetups } from "../data/replies";
import { count, ms, pct, short3 } from "../widgets/format";
import { SortTable } from "../widgets/table";

const NEARER = { a: "A", b: "B", same: "same" } as const;
const nameOf = (r: AcrossRow): string => (r.name_b ? `${r.name} → ${r.name_b}` : r.name);
const timeOf = (r: AcrossRow): number => Math.max(r.a_ms ?? 0, r.b_ms ?? 0);

function Table({ id, label, rows }: { id: string; label: string; rows: AcrossRow[] }) {
  return (
    <SortTable
      id={id}
      rows={rows}
      sort="time"
      filter
      columns={[
        { key: "name", label, text: true, value: nameOf },
        { key: "time", label: "GPU A", value: timeOf, show: (r) => ms(r.a_ms), title: "Sorted by the longer side" },
        { key: "b", label: "GPU B", value: (r) => r.b_ms, show: (r) => ms(r.b_ms) },
        { key: "ratio", label: "B / A", value: (r) => r.ratio, show: (r) => short3(r.ratio) },
        { key: "roofa", label: "Roofline A", value: (r) => r.efficiency_a, show: (r) => pct(r.efficiency_a) },
        { key: "roofb", label: "Roofline B", value: (r) => r.efficiency_b, show: (r) => pct(r.efficiency_b) },
        {
          key: "nearer",
          label: "Nearer",
          text: true,
          value: (r) => (r.nearer ? NEARER[r.nearer] : (r.reason ?? "")),
        },
        { key: "callsa", label: "Calls A", value: (r) => r.calls_a, show: (r) => count(r.calls_a) },
        { key: "callsb", label: "Calls B", value: (r) => r.calls_b, show: (r) => count(r.calls_b) },
      ]}
    />
  );
}

export function Across({ across }: { across: AcrossSetups }) {
  return (
    <div>
      <Table id="families" label="Kernel family" rows={across.families} />
      <Table id="acrossops" label="Operator" rows={across.operators} />
      <p class="note">
        GPU A and GPU B are the durations of the kernels, on the mean device. Roofline is the share of that time that
        the device needs at its peaks; Nearer is the side that comes closer to them, or why that is unknown.
      </p>
    </div>
  );
}
