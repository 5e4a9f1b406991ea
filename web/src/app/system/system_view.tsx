// SPDX-License-Identifier: Apache-2.0
// The machine of the server, its GPUs as they are now, what fits and what does not, and what the server can read: version, formats, known device peaks, rules, baselines.
import { useEffect } from "preact/hooks";
import type { SystemGpu, SystemReply } from "../../data/generated";
import { bytes, cut, plural, short3 } from "../../widgets/format";
import { SortTable } from "../../widgets/table";
import { runAddress } from "../route";
import { client, useLoad } from "../session";
import { Called, Loaded } from "../states";

const LOOK_EVERY_MS = 3000; // at the GPUs

function Version() {
  return (
    <Called name="version" params={{}} what="the version">
      {(v) => (
        <p class="facts">
          <span>
            NeuroLens <b>{v.version}</b>
          </span>
          {v.commit && <span>commit {cut(v.commit, 12)}</span>}
          <span>{v.architecture}</span>
          <span>{v.compiler}</span>
          <span>DuckDB {v.duckdb}</span>
          <a href="/docs">HTTP API</a>
        </p>
      )}
    </Called>
  );
}

const known = (text: string, value: unknown): string => (value === null ? "" : text);

function Gpu({ gpu: g }: { gpu: SystemGpu }) {
  const facts = [
    known(`${g.sm_count} SMs`, g.sm_count),
    known(bytes(g.memory_bytes), g.memory_bytes),
    known(`SM ${g.sm_clock_mhz} of ${g.sm_clock_max_mhz ?? "?"} MHz`, g.sm_clock_mhz),
    known(`${short3(g.power_w)} of ${short3(g.power_limit_w)} W`, g.power_w),
    known(`${g.temperature_c} °C`, g.temperature_c),
    known(`${short3(g.utilization_pct)} % busy`, g.utilization_pct),
    known(`${bytes(g.memory_used_bytes)} in use`, g.memory_used_bytes),
    known(`ECC ${g.ecc ? "on" : "off"}`, g.ecc),
    known(`MIG ${g.mig ? "on" : "off"}`, g.mig),
    known(`PCIe gen ${g.pcie_gen} x${g.pcie_width ?? "?"}`, g.pcie_gen),
  ];
  return (
    <p class="facts" data-gpu={g.index}>
      <b>
        GPU {g.index}: {cut(g.name ?? "not known", 80)}
      </b>
      {facts.filter(Boolean).map((f) => (
        <span key={f}>{f}</span>
      ))}
    </p>
  );
}

function Stack({ system: s }: { system: SystemReply }) {
  const rows = [
    { what: "CPU", value: s.host.cpu.model },
    { what: "System", value: [s.host.os, s.host.kernel, s.host.container].filter(Boolean).join(", ") },
    { what: "Driver", value: s.cuda.driver },
    ...s.cuda.toolkits.map((t) => ({ what: "CUDA toolkit", value: `${t.version ?? "?"} in ${t.path}` })),
    ...s.cuda.libraries.map((l) => ({ what: l.name, value: l.version })),
    ...s.python.map((p) => ({
      what: `Python ${p.python ?? ""}${p.is_active ? " (active)" : ""}`,
      value: [p.path, ...Object.entries(p.packages).map(([name, version]) => `${name} ${version}`)].join(", "),
    })),
  ];
  return (
    <SortTable
      id="stack"
      rows={rows.filter((r) => r.value)}
      sort=""
      columns={[
        { key: "what", label: "What", text: true, value: (r) => r.what },
        { key: "value", label: "Found", text: true, value: (r) => r.value ?? "" },
      ]}
    />
  );
}

function Machine() {
  const all = useLoad("system", (signal) => client.fresh("system", {}, signal));
  const [live, again] = useLoad("system gpus", (signal) => client.fresh("system", { recording: false }, signal));
  // biome-ignore lint/correctness/useExhaustiveDependencies: the next look follows the last reply
  useEffect(() => {
    const timer = setTimeout(() => again(true), LOOK_EVERY_MS);
    return () => clearTimeout(timer);
  }, [live]);
  return (
    <Loaded what="the machine" from={all}>
      {(system) => {
        const now = live.state === "loaded" ? live.reply : system;
        return (
          <>
            <section>
              <h2>GPUs</h2>
              {now.gpus.map((g) => (
                <Gpu key={g.index} gpu={g} />
              ))}
              {now.gpus_reason && <p class="note">{cut(now.gpus_reason, 300)}</p>}
            </section>
            <section>
              <h2>Software</h2>
              <Stack system={system} />
            </section>
            <section>
              <h2>Health</h2>
              <SortTable
                id="health"
                rows={now.health}
                sort=""
                columns={[
                  { key: "state", label: "State", text: true, value: (h) => h.state },
                  { key: "text", label: "Found", text: true, value: (h) => h.text },
                  { key: "advice", label: "What to do", text: true, value: (h) => h.advice ?? "" },
                ]}
              />
            </section>
            <section>
              <h2>What can be recorded here</h2>
              <SortTable
                id="recording"
                rows={system.recording ?? []}
                sort=""
                columns={[
                  { key: "name", label: "What", text: true, value: (a) => a.name },
                  { key: "works", label: "Works", text: true, value: (a) => (a.works ? "yes" : "no") },
                  { key: "detail", label: "Why", text: true, value: (a) => a.detail },
                ]}
              />
            </section>
          </>
        );
      }}
    </Loaded>
  );
}

function Formats() {
  return (
    <Called name="formats" params={{}} what="the formats">
      {({ formats }) => (
        <SortTable
          id="formats"
          rows={formats}
          sort=""
          filter
          columns={[
            { key: "name", label: "Format", text: true, value: (f) => f.name },
            { key: "reads", label: "Reads", text: true, value: (f) => f.reads },
            { key: "by", label: "Written by", text: true, value: (f) => f.produced_by },
            { key: "names", label: "File names", text: true, value: (f) => f.names.join(", ") },
          ]}
        />
      )}
    </Called>
  );
}

function Peaks() {
  return (
    <Called name="peaks" params={{}} what="the peaks">
      {({ devices }) => (
        <SortTable
          id="peaks"
          rows={devices}
          sort="bf16"
          filter
          columns={[
            { key: "device", label: "Device", text: true, value: (d) => d.device },
            { key: "bf16", label: "bf16 TFLOP/s", value: (d) => d.bf16_tflops, show: (d) => short3(d.bf16_tflops) },
            { key: "fp8", label: "fp8 TFLOP/s", value: (d) => d.fp8_tflops, show: (d) => short3(d.fp8_tflops) },
            { key: "fp32", label: "fp32 TFLOP/s", value: (d) => d.fp32_tflops, show: (d) => short3(d.fp32_tflops) },
            { key: "dram", label: "Memory GB/s", value: (d) => d.dram_gbps, show: (d) => short3(d.dram_gbps) },
            { key: "source", label: "Source", text: true, value: (d) => d.source },
          ]}
        />
      )}
    </Called>
  );
}

function Baselines() {
  return (
    <Called name="baseline" params={{ action: "list" }} what="the baselines">
      {({ baselines }) =>
        baselines.length === 0 ? (
          <p class="note">
            No baselines. <code>neurolens baseline set NAME RUN…</code> makes one for <code>neurolens gate</code>.
          </p>
        ) : (
          <ul>
            {baselines.map((b) => (
              <li key={b.name}>
                <b>{cut(b.name, 80)}</b> {cut(b.note ?? "", 120)}, {plural(b.runs.length, "run")}:{" "}
                {b.runs.slice(0, 8).map((r) => (
                  <a key={r.run_id} href={runAddress(r.run_id)}>
                    {r.short_id}{" "}
                  </a>
                ))}
              </li>
            ))}
          </ul>
        )
      }
    </Called>
  );
}

export function SystemView() {
  useEffect(() => {
    document.title = "System – NeuroLens";
  }, []);
  return (
    <>
      <div class="title">
        <h1>System</h1>
      </div>
      <Version />
      <Machine />
      <section>
        <h2>Formats that can be imported</h2>
        <Formats />
      </section>
      <section>
        <h2>Peak rates of known devices</h2>
        <Peaks />
      </section>
      <section>
        <h2>Baselines</h2>
        <Baselines />
      </section>
    </>
  );
}
