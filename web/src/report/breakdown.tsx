// SPDX-License-Identifier: Apache-2.0
// Where the time went: of all devices together, then of each.
import type { DeviceTime, ReportPart } from "../data/replies";
import { ms, pct } from "../widgets/format";
import { StackedBar } from "../widgets/stacked_bar";
import { SortTable } from "../widgets/table";

const PART_COLOR: Record<string, string> = {
  compute: "--cat-compute",
  communication: "--cat-communication",
  memory: "--cat-memory",
  overlap: "--cat-overlap",
  idle: "--idle-1",
  idle_host: "--idle-1",
  idle_launch: "--idle-2",
  idle_sync: "--idle-3",
  idle_startup: "--idle-3",
  idle_other: "--idle-4",
  idle_edges: "--idle-5",
  paused: "--idle-5",
  op: "--cat-op",
  python: "--cat-python",
  range: "--cat-range",
  api: "--cat-api",
  nothing: "--idle-4",
  run_python: "--cat-python",
  run_native: "--cat-op",
  run_system: "--cat-api",
  wait: "--idle-2",
  unsampled: "--idle-5",
};

// Of how many devices the times are the sum: they may be longer than the run.
export function devicesIn(parts: ReportPart[], wall_ms: number): number {
  const all_ms = parts.reduce((sum, part) => sum + part.ms, 0);
  return wall_ms > 0 ? Math.max(1, Math.round(all_ms / wall_ms)) : 1;
}

export function Breakdown({ parts, wall_ms }: { parts: ReportPart[]; wall_ms: number }) {
  const devices = devicesIn(parts, wall_ms);
  const slices = parts.map((p) => ({
    key: p.what,
    label: p.label,
    ms: p.ms,
    share: p.share,
    color: `var(${PART_COLOR[p.what] ?? "--idle-4"})`,
  }));
  return (
    <>
      <StackedBar name="Where the time went" slices={slices} />
      {devices > 1 && (
        <p class="note">
          Times of {devices} devices together, {ms(wall_ms)} each.
        </p>
      )}
    </>
  );
}

function deviceName(d: DeviceTime): string {
  return [d.rank === null ? "" : `rank ${d.rank}`, `GPU ${d.index ?? ""}`.trim(), d.name ?? ""]
    .filter(Boolean)
    .join(" ");
}

export function Devices({ devices }: { devices: DeviceTime[] }) {
  return (
    <SortTable
      id="devices"
      rows={devices}
      sort="busy"
      columns={[
        { key: "device", label: "Device", text: true, value: deviceName },
        { key: "util", label: "Utilization", value: (d) => d.utilization, show: (d) => pct(d.utilization) },
        { key: "busy", label: "Busy", value: (d) => d.busy_ms, show: (d) => ms(d.busy_ms) },
        { key: "idle", label: "Idle", value: (d) => d.idle_ms, show: (d) => ms(d.idle_ms) },
        { key: "compute", label: "Compute", value: (d) => d.compute_ms, show: (d) => ms(d.compute_ms) },
        { key: "comm", label: "Communication", value: (d) => d.communication_ms, show: (d) => ms(d.communication_ms) },
        { key: "memory", label: "Memory", value: (d) => d.memory_ms, show: (d) => ms(d.memory_ms) },
        { key: "overlap", label: "Overlap", value: (d) => d.overlap_ms, show: (d) => ms(d.overlap_ms) },
      ]}
    />
  );
}
