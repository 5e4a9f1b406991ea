// SPDX-License-Identifier: Apache-2.0
// What CPU samples show: functions, threads, waits.
import type { SampledFunction, SampledThread, SampledWait, SamplesFacts } from "../data/replies";
import { count, ms, pct } from "../widgets/format";
import { SortTable } from "../widgets/table";

const placeOf = (f: SampledFunction): string => (f.file ?? "") + (f.line === null ? "" : `:${f.line}`);

function Functions({ rows, total }: { rows: SampledFunction[]; total: number }) {
  return (
    <SortTable
      id="functions"
      rows={rows}
      total={total}
      sort="self"
      filter
      names={(f) => [f.name, f.file ?? ""]}
      columns={[
        { key: "name", label: "Function", text: true, value: (f) => f.name },
        { key: "where", label: "Where", text: true, value: placeOf },
        { key: "language", label: "Language", text: true, value: (f) => f.language },
        { key: "self", label: "Self", value: (f) => f.self_ms ?? f.self_share, show: (f) => ms(f.self_ms) },
        { key: "share", label: "Share", value: (f) => f.self_share, show: (f) => pct(f.self_share) },
        { key: "total", label: "Total", value: (f) => f.total_ms ?? f.total_share, show: (f) => ms(f.total_ms) },
        { key: "samples", label: "Samples", value: (f) => f.samples, show: (f) => count(f.samples) },
      ]}
    />
  );
}

function Threads({ rows, total }: { rows: SampledThread[]; total: number }) {
  return (
    <SortTable
      id="threads"
      rows={rows}
      total={total}
      sort="running"
      columns={[
        { key: "name", label: "Thread", text: true, value: (t) => t.name + (t.main ? " (main)" : "") },
        { key: "tid", label: "TID", value: (t) => t.tid ?? -1, show: (t) => t.tid ?? "-" },
        { key: "running", label: "Running", value: (t) => t.running_ms ?? 0, show: (t) => ms(t.running_ms) },
        { key: "waiting", label: "Waiting", value: (t) => t.waiting_ms ?? 0, show: (t) => ms(t.waiting_ms) },
        { key: "held", label: "Holds GIL", value: (t) => t.gil_held_ms ?? 0, show: (t) => ms(t.gil_held_ms) },
        { key: "awaited", label: "Waits for GIL", value: (t) => t.gil_wait_ms ?? 0, show: (t) => ms(t.gil_wait_ms) },
      ]}
    />
  );
}

function Waits({ rows }: { rows: SampledWait[] }) {
  return (
    <SortTable
      id="waits"
      rows={rows}
      sort="time"
      columns={[
        { key: "what", label: "Waiting for", text: true, value: (w) => w.what },
        { key: "where", label: "In", text: true, value: (w) => w.where ?? "-" },
        { key: "time", label: "Time", value: (w) => w.ms, show: (w) => ms(w.ms) },
        { key: "threads", label: "Threads", value: (w) => w.threads, show: (w) => count(w.threads) },
      ]}
    />
  );
}

export function Samples({ samples: s }: { samples: SamplesFacts }) {
  return (
    <>
      <Functions rows={s.functions} total={s.functions_total} />
      {s.running_ms !== null && <Threads rows={s.threads} total={s.threads_total} />}
      {s.waits.length > 0 && <Waits rows={s.waits} />}
    </>
  );
}
