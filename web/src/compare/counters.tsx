// SPDX-License-Identifier: Apache-2.0
// Hardware counters per kernel in both runs.
import type { CompareCounters, KernelCounters } from "../data/replies";
import { ms, pct, short3 } from "../widgets/format";
import { SortTable } from "../widgets/table";

type Metric = Exclude<keyof KernelCounters, "kernels" | "total_ms" | "source">;

const METRICS: [metric: Metric, label: string][] = [
  ["achieved_occupancy", "Occupancy"],
  ["warp_execution_efficiency", "Warp efficiency"],
  ["l2_hit_rate", "L2 hit rate"],
  ["sm_efficiency", "SM efficiency"],
  ["tensor_active", "Tensor active"],
  ["dram_read_gb", "DRAM read (GB)"],
  ["dram_write_gb", "DRAM written (GB)"],
];

const counterValue = (side: KernelCounters | null, metric: Metric): number | null => side?.[metric] ?? null;
const valueText = (side: KernelCounters | null, metric: Metric): string =>
  metric.endsWith("_gb") ? short3(counterValue(side, metric)) : pct(counterValue(side, metric));
const timeOf = (c: CompareCounters): number => Math.max(c.a?.total_ms ?? 0, c.b?.total_ms ?? 0);

export function Counters({ counters }: { counters: CompareCounters[] }) {
  const measured = METRICS.filter(([m]) =>
    counters.some((c) => counterValue(c.a, m) !== null || counterValue(c.b, m) !== null),
  );
  return (
    <SortTable
      id="counters"
      rows={counters}
      sort="time"
      filter
      columns={[
        { key: "kernel", label: "Kernel", text: true, value: (c) => c.kernel },
        {
          key: "time",
          label: "Time A → B",
          value: timeOf,
          show: (c) => `${ms(c.a?.total_ms)} → ${ms(c.b?.total_ms)}`,
        },
        ...measured.map(([metric, label]) => ({
          key: metric,
          label,
          value: (c: CompareCounters) => counterValue(c.b, metric),
          show: (c: CompareCounters) => `${valueText(c.a, metric)} → ${valueText(c.b, metric)}`,
        })),
      ]}
    />
  );
}
