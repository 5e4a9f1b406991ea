// SPDX-License-Identifier: Apache-2.0
// Rows (device, slice, at_ms, allocated_bytes, reserved_bytes, events) as the memory of a report.
import type { ReportMemory } from "../../data/generated";

type Cell = null | boolean | number | string;
const numberOf = (cell: Cell | undefined): number => Number(cell ?? 0) || 0;

export function memoryOf(rows: Cell[][]): ReportMemory {
  const out: ReportMemory = { events: 0, peaks: [], series: [] };
  for (const [device, , at, allocated, reserved, events] of rows) {
    const index = numberOf(device);
    let series = out.series.find((s) => s.device === index);
    let peak = out.peaks.find((p) => p.device === index);
    if (!series || !peak) {
      series = { device: index, at_ms: [], allocated_bytes: [] };
      peak = { device: index, allocated_bytes: 0, reserved_bytes: 0 };
      out.series.push(series);
      out.peaks.push(peak);
    }
    series.at_ms.push(numberOf(at));
    series.allocated_bytes.push(numberOf(allocated));
    peak.allocated_bytes = Math.max(peak.allocated_bytes, numberOf(allocated));
    peak.reserved_bytes = Math.max(peak.reserved_bytes, numberOf(reserved));
    out.events += numberOf(events);
  }
  return out;
}
