// SPDX-License-Identifier: Apache-2.0
// One GPU of the server's machine: what it does now against what it can, and what it is. A value that could not be
// read is a dash with the reason.
import type { SystemGpu } from "../../data/generated";
import { bytes, cut, short3 } from "../../widgets/format";
import { Sparkline } from "../runs/sparkline";
import type { GpuReadings } from "./gpu_readings";
import { limitText } from "./gpu_readings";

interface MeterProps {
  label: string;
  now: number | null;
  most: number | null;
  text: (value: number) => string;
  unread: string | undefined;
}

function Meter({ label, now, most, text, unread }: MeterProps) {
  const share = now !== null && most !== null && most > 0 ? Math.min(1, Math.max(0, now / most)) : null;
  return (
    <div class="meter">
      <span>{label}</span>
      {now === null ? (
        <b title={unread}>
          – <span class="muted">{cut(unread ?? "not known", 60)}</span>
        </b>
      ) : (
        <b>
          {text(now)}
          {most !== null && <span class="muted"> of {text(most)}</span>}
        </b>
      )}
      <div class="meter-bar" aria-hidden="true">
        {share !== null && <div style={{ width: `${(100 * share).toFixed(1)}%` }} />}
      </div>
    </div>
  );
}

const onOff = (name: string, value: boolean | null): string =>
  value === null ? "" : `${name} ${value ? "on" : "off"}`;

function factsOf(g: SystemGpu): string[] {
  const lanes = g.pcie_width === null ? "" : ` x${g.pcie_width}`;
  return [
    g.sm_count === null ? "" : `${g.sm_count} SMs`,
    g.compute_capability === null ? "" : `compute capability ${g.compute_capability}`,
    onOff("ECC", g.ecc),
    onOff("MIG", g.mig),
    onOff("persistence", g.persistence),
    g.clocks_locked === null ? "" : g.clocks_locked ? "clocks locked" : "clocks not locked",
    g.pcie_gen === null ? "" : `PCIe gen ${g.pcie_gen}${lanes}`,
    g.nvlinks === null ? "" : `${g.nvlinks} NVLinks`,
    g.numa_node === null ? "" : `NUMA node ${g.numa_node}`,
    g.pci_address ?? "",
  ].filter(Boolean);
}

export function GpuCard({ gpu: g, readings }: { gpu: SystemGpu; readings: GpuReadings | undefined }) {
  const why = (field: string) => g.unread[field] ?? g.unread["*"];
  const limits = limitText(g.clock_limit_reasons);
  return (
    <article class="gpu" data-gpu={g.index} aria-label={`GPU ${g.index}`}>
      <h3>
        GPU {g.index} <span>{cut(g.name ?? "name not known", 80)}</span>
      </h3>
      <div class="meters">
        <Meter
          label="Busy"
          now={g.utilization_pct}
          most={g.utilization_pct === null ? null : 100}
          text={(v) => `${short3(v)} %`}
          unread={why("utilization_pct")}
        />
        <Meter
          label="Memory"
          now={g.memory_used_bytes}
          most={g.memory_bytes}
          text={bytes}
          unread={why("memory_used_bytes")}
        />
        <Meter
          label="Power"
          now={g.power_w}
          most={g.power_limit_w}
          text={(v) => `${short3(v)} W`}
          unread={why("power_w")}
        />
        <Meter
          label="SM clock"
          now={g.sm_clock_mhz}
          most={g.sm_clock_max_mhz}
          text={(v) => `${v} MHz`}
          unread={why("sm_clock_mhz")}
        />
        <Meter
          label="Memory clock"
          now={g.memory_clock_mhz}
          most={g.memory_clock_max_mhz}
          text={(v) => `${v} MHz`}
          unread={why("memory_clock_mhz")}
        />
        <Meter
          label="Temperature"
          now={g.temperature_c}
          most={null}
          text={(v) => `${v} °C`}
          unread={why("temperature_c")}
        />
      </div>
      {readings && readings.power_w.length > 1 && (
        <p class="trace">
          <span class="muted">Power since this page was opened</span>{" "}
          <Sparkline values={readings.power_w} label={`Power of GPU ${g.index} since this page was opened`} />
        </p>
      )}
      {limits && <p class="note">{limits}</p>}
      <p class="facts">
        {factsOf(g).map((f) => (
          <span key={f}>{f}</span>
        ))}
      </p>
      {g.mig_devices.length > 0 && (
        <ul>
          {g.mig_devices.map((m, i) => (
            <li key={i}>
              {cut(m.name ?? "MIG device", 80)}
              {m.memory_bytes !== null && `, ${bytes(m.memory_bytes)}`}
            </li>
          ))}
        </ul>
      )}
    </article>
  );
}
