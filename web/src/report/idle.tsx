// SPDX-License-Identifier: Apache-2.0
// Why the device was idle, and what launching cost.
import type { IdleSection, LaunchSection } from "../data/replies";
import { count, ms, pct, plain, plural, us } from "../widgets/format";
import { SortTable } from "../widgets/table";

export function IdleView({ idle }: { idle: IdleSection }) {
  const parts: [string, number | null][] = [
    ["waiting for the host", idle.host_ms],
    ["launch latency", idle.launch_ms],
    ["synchronisation", idle.sync_ms],
    ["start-up", idle.startup_ms],
    ["edges of the recording", idle.edge_ms],
    [idle.host_ms === null ? "unknown" : "other", idle.other_ms],
  ];
  return (
    <div>
      <p class="facts">
        {parts.map(
          ([name, value]) =>
            value !== null && (
              <span key={name}>
                {name} <b>{ms(value)}</b>
              </span>
            ),
        )}
        <span>{plural(idle.gap_count, "gap")}</span>
        {idle.floor_us !== null && <span>shortest launch latency {us(idle.floor_us)}</span>}
        {idle.parts_reason && <span>{idle.parts_reason}</span>}
      </p>
      {idle.causes.length > 0 && (
        <SortTable
          id="idle"
          rows={idle.causes}
          sort="ms"
          columns={[
            { key: "what", label: "Cause", text: true, value: (c) => plain(c.what) },
            { key: "name", label: "Name", text: true, value: (c) => c.name ?? "" },
            { key: "ms", label: "Idle time", value: (c) => c.ms, show: (c) => ms(c.ms) },
            { key: "share", label: "Share", value: (c) => c.share, show: (c) => pct(c.share) },
            { key: "gaps", label: "Gaps", value: (c) => c.gaps, show: (c) => count(c.gaps) },
          ]}
        />
      )}
    </div>
  );
}

export function Launches({ launch }: { launch: LaunchSection }) {
  const cells: [string, string][] = [
    ["launches", count(launch.launches)],
    ["launch call, median", us(launch.api_p50_us)],
    ["launch call, p95", us(launch.api_p95_us)],
    ["queue delay, median", us(launch.queue_delay_p50_us)],
    ["kernels shorter than their launch call", pct(launch.launch_bound_share)],
    ["longest queue", count(launch.queue_max)],
    ["queue delay, total", ms(launch.transition_ms)],
  ];
  return (
    <dl class="tiles">
      {cells.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
