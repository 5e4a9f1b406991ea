// SPDX-License-Identifier: Apache-2.0
// Time by kernel, operator, module and stage in both runs.
import { useState } from "preact/hooks";
import type { CompareFacts, CompareRow } from "../data/replies";
import { count, ms } from "../widgets/format";
import { SortTable } from "../widgets/table";
import { Toggle } from "../widgets/toggle";
import { kindOf, relativeChange, signedMs, signedPct } from "./delta";
import "./tables.css";

const TABLES = [
  { value: "kernel", label: "Kernel", key: "by_kernel" },
  { value: "op", label: "Operator", key: "by_op" },
  { value: "module", label: "Module", key: "by_module" },
  { value: "stage", label: "Stage", key: "by_stage" },
] as const;
type TableName = (typeof TABLES)[number]["value"];

export const hasTables = (c: CompareFacts): boolean => TABLES.some(({ key }) => c[key].length > 0);

function DeltaCell({ row, largest }: { row: CompareRow; largest: number }) {
  const delta = row.delta_ms ?? 0;
  const size = Math.min(1, Math.abs(delta) / largest) * 50;
  return (
    <span class="deltacell">
      <span class="deltabar">
        <i class={kindOf(delta)} style={{ left: `${delta > 0 ? 50 : 50 - size}%`, width: `${size}%` }} />
      </span>
      <span>{signedMs(row.delta_ms)}</span>
    </span>
  );
}

const changeOf = (r: CompareRow): number | null => relativeChange(r.a_ms, r.b_ms);

export function Tables({ comparison }: { comparison: CompareFacts }) {
  const filled = TABLES.filter(({ key }) => comparison[key].length > 0);
  const [name, setName] = useState<TableName>(filled[0]?.value ?? "kernel");
  const { value: id, label, key } = filled.find((t) => t.value === name) ?? TABLES[0];
  const rows = comparison[key];
  const largest = Math.max(1e-12, ...rows.map((r) => Math.abs(r.delta_ms ?? 0)));
  return (
    <div>
      <div class="bar">
        <Toggle
          chosen={name}
          onChoose={setName}
          choices={filled.map((t) => ({ value: t.value, label: `By ${t.label.toLowerCase()}` }))}
        />
      </div>
      <SortTable
        key={id}
        id={id}
        rows={rows}
        sort="delta"
        filter
        columns={[
          { key: "name", label, text: true, value: (r) => r.name || "(none)" },
          {
            key: "delta",
            label: "B − A",
            value: (r) => Math.abs(r.delta_ms ?? 0),
            show: (r) => <DeltaCell row={r} largest={largest} />,
            title: "Sorted by size, regardless of sign",
          },
          {
            key: "change",
            label: "Change",
            value: changeOf,
            show: (r) => (r.a_ms === 0 ? "new" : signedPct(changeOf(r))),
          },
          { key: "a", label: "A", value: (r) => r.a_ms, show: (r) => ms(r.a_ms) },
          { key: "b", label: "B", value: (r) => r.b_ms, show: (r) => ms(r.b_ms) },
          { key: "devicea", label: "GPU A", value: (r) => r.busy_a_ms, show: (r) => ms(r.busy_a_ms) },
          { key: "deviceb", label: "GPU B", value: (r) => r.busy_b_ms, show: (r) => ms(r.busy_b_ms) },
          { key: "callsa", label: "Calls A", value: (r) => r.count_a, show: (r) => count(r.count_a) },
          { key: "callsb", label: "Calls B", value: (r) => r.count_b, show: (r) => count(r.count_b) },
        ]}
      />
      <p class="note">
        A and B sum to the wall times: the device time of each row, with overlap counted once, and the idle time before
        it. GPU A and GPU B are the device time alone.
      </p>
    </div>
  );
}
