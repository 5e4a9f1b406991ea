// SPDX-License-Identifier: Apache-2.0
// Time by name: operators, kernels, copies, modules and labelled ranges.
import type { CallTotals, CopyTotals, NameTotals } from "../data/replies";
import { bytes, count, ms, pct, short3 } from "../widgets/format";
import type { Column } from "../widgets/table";
import { SortTable } from "../widgets/table";

const namesOf = (r: NameTotals): string[] => [r.name, r.raw_name];

export function Operators({ rows, total }: { rows: NameTotals[]; total: number }) {
  const hasGpu = rows.some((r) => r.gpu_ms > 0);
  const gpu: Column<NameTotals> = { key: "gpu", label: "GPU", value: (r) => r.gpu_ms, show: (r) => ms(r.gpu_ms) };
  return (
    <SortTable
      id="operators"
      rows={rows}
      total={total}
      sort={hasGpu ? "gpu" : "self"}
      filter
      names={namesOf}
      columns={[
        { key: "name", label: "Operator", text: true, value: (r) => r.name },
        ...(hasGpu ? [gpu] : []),
        { key: "share", label: "Share", value: (r) => r.share, show: (r) => pct(r.share) },
        { key: "total", label: "Total", value: (r) => r.total_ms, show: (r) => ms(r.total_ms) },
        { key: "self", label: "Self", value: (r) => r.self_ms, show: (r) => ms(r.self_ms) },
        { key: "calls", label: "Calls", value: (r) => r.calls, show: (r) => count(r.calls) },
        { key: "mean", label: "Mean", value: (r) => r.mean_ms, show: (r) => ms(r.mean_ms) },
        { key: "p95", label: "p95", value: (r) => r.p95_ms, show: (r) => ms(r.p95_ms) },
      ]}
    />
  );
}

export function Kernels({ rows, total }: { rows: NameTotals[]; total: number }) {
  return (
    <SortTable
      id="kernels"
      rows={rows}
      total={total}
      sort="total"
      filter
      names={namesOf}
      detail={(r) => (r.raw_name !== r.name ? r.raw_name : null)}
      columns={[
        { key: "name", label: "Kernel", text: true, value: (r) => r.name },
        { key: "family", label: "Family", text: true, value: (r) => r.family ?? "" },
        { key: "device", label: "Device", value: (r) => r.device ?? -1, show: (r) => r.device ?? "all" },
        { key: "total", label: "Total", value: (r) => r.total_ms, show: (r) => ms(r.total_ms) },
        { key: "share", label: "Share", value: (r) => r.share, show: (r) => pct(r.share) },
        { key: "calls", label: "Calls", value: (r) => r.calls, show: (r) => count(r.calls) },
        { key: "mean", label: "Mean", value: (r) => r.mean_ms, show: (r) => ms(r.mean_ms) },
        { key: "p95", label: "p95", value: (r) => r.p95_ms, show: (r) => ms(r.p95_ms) },
      ]}
    />
  );
}

const copyGbps = (c: CopyTotals): number | null => (c.total_ms > 0 ? c.bytes / c.total_ms / 1e6 : null);

export function Copies({ copies }: { copies: CopyTotals[] }) {
  return (
    <SortTable
      id="copies"
      rows={copies}
      sort="total"
      columns={[
        { key: "kind", label: "Copy", text: true, value: (c) => c.kind },
        { key: "from", label: "From", text: true, value: (c) => c.from },
        { key: "to", label: "To", text: true, value: (c) => c.to },
        { key: "total", label: "Time", value: (c) => c.total_ms, show: (c) => ms(c.total_ms) },
        { key: "calls", label: "Calls", value: (c) => c.calls, show: (c) => count(c.calls) },
        { key: "bytes", label: "Bytes", value: (c) => c.bytes, show: (c) => bytes(c.bytes) },
        { key: "rate", label: "GB/s", value: copyGbps, show: (c) => short3(copyGbps(c)) },
      ]}
    />
  );
}

export function CallTotalsTable({ id, label, rows }: { id: string; label: string; rows: CallTotals[] }) {
  return (
    <SortTable
      id={id}
      rows={rows}
      sort="gpu"
      filter
      columns={[
        { key: "name", label, text: true, value: (r) => r.name },
        { key: "gpu", label: "GPU", value: (r) => r.gpu_total_ms, show: (r) => ms(r.gpu_total_ms) },
        { key: "gpuself", label: "GPU self", value: (r) => r.gpu_self_ms, show: (r) => ms(r.gpu_self_ms) },
        { key: "host", label: "Host", value: (r) => r.host_total_ms, show: (r) => ms(r.host_total_ms) },
        { key: "hostself", label: "Host self", value: (r) => r.host_self_ms, show: (r) => ms(r.host_self_ms) },
        { key: "calls", label: "Calls", value: (r) => r.calls, show: (r) => count(r.calls) },
        { key: "kernels", label: "Kernels", value: (r) => r.kernels, show: (r) => count(r.kernels) },
      ]}
    />
  );
}
