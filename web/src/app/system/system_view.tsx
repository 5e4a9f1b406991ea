// SPDX-License-Identifier: Apache-2.0
// The machine of the server, its GPUs as they are now, what fits and what does not, and what the server can read: version, formats, known device peaks, rules, baselines.
import { useEffect, useState } from "preact/hooks";
import type { SystemHealth, SystemPython, SystemReply } from "../../data/generated";
import { bytes, cut, pct, plain, plural, short3 } from "../../widgets/format";
import { SortTable } from "../../widgets/table";
import { runAddress } from "../route";
import { client, useLoad } from "../session";
import { Called, Loaded } from "../states";
import { GpuCard } from "./gpu_card";
import type { GpuReadings } from "./gpu_readings";
import { withReading } from "./gpu_readings";
import "./system.css";

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

function Fact({ name, value }: { name: string; value: string | null | undefined }) {
  if (!value) return null;
  return (
    <tr>
      <th scope="row">{name}</th>
      <td>{cut(value, 300)}</td>
    </tr>
  );
}

const versions = (packages: Record<string, string>): string =>
  Object.entries(packages)
    .map(([name, version]) => `${name} ${version}`)
    .join(", ");

function PythonFacts({ python: p }: { python: SystemPython }) {
  return (
    <article class="part">
      <h3>
        Python {p.python ?? "of unknown version"} {p.is_active && <span class="tag">active</span>}
      </h3>
      <table class="factlist">
        <tbody>
          <Fact name="Folder" value={`${p.path} (${p.kind})`} />
          {Object.entries(p.packages).map(([name, version]) => (
            <Fact key={name} name={name} value={version} />
          ))}
          <Fact
            name="torch built for"
            value={p.torch_cuda ? `CUDA ${p.torch_cuda}` : p.torch_hip && `ROCm ${p.torch_hip}`}
          />
          <Fact name="NVIDIA packages" value={versions(p.cuda_packages)} />
        </tbody>
      </table>
      {Object.keys(p.packages).length === 0 && <p class="note">No framework is installed in it.</p>}
    </article>
  );
}

function Stack({ system: s }: { system: SystemReply }) {
  const { cpu } = s.host;
  const cores = cpu.threads === null ? "" : `${cpu.cores ?? "?"} cores, ${cpu.threads} threads`;
  const memory = s.host.memory_bytes === null ? "" : bytes(s.host.memory_bytes);
  const free = s.host.memory_available_bytes === null ? "" : `${bytes(s.host.memory_available_bytes)} available`;
  return (
    <div class="cards">
      <article class="part">
        <h3>Host</h3>
        <table class="factlist">
          <tbody>
            <Fact name="CPU" value={[cpu.model, cores].filter(Boolean).join(", ")} />
            <Fact name="Memory" value={[memory, free].filter(Boolean).join(", ")} />
            <Fact name="System" value={[s.host.os, s.host.architecture].filter(Boolean).join(", ")} />
            <Fact name="Kernel" value={s.host.kernel} />
            <Fact name="Container" value={s.host.container} />
            <Fact name="Virtual machine" value={s.host.virtualization} />
          </tbody>
        </table>
      </article>
      <article class="part">
        <h3>CUDA</h3>
        <table class="factlist">
          <tbody>
            <Fact name="Driver" value={s.cuda.driver} />
            <Fact name="Newest CUDA it runs" value={s.cuda.driver_cuda} />
            {s.cuda.toolkits.map((t) => (
              <Fact
                key={t.path}
                name={t.is_default ? "Toolkit (default)" : "Toolkit"}
                value={`${t.version ?? "version not known"}, ${t.path}`}
              />
            ))}
            {s.cuda.libraries.map((l) => (
              <Fact key={l.path} name={l.name} value={`${l.version}, ${l.path}`} />
            ))}
          </tbody>
        </table>
        {!s.cuda.driver && s.cuda.toolkits.length === 0 && <p class="note">No driver and no toolkit were found.</p>}
      </article>
      {s.python.map((p) => (
        <PythonFacts key={p.path} python={p} />
      ))}
      {s.python.length === 0 && <p class="note">No Python environment was found.</p>}
    </div>
  );
}

const STATES = ["problem", "warning", "unknown", "notice", "ok"];

function Health({ checks }: { checks: SystemHealth[] }) {
  const sorted = [...checks].sort((a, b) => STATES.indexOf(a.state) - STATES.indexOf(b.state));
  return (
    <ul class="checks">
      {sorted.map((h, i) => (
        <li key={i} class={h.state}>
          <b class="pill">{h.state}</b>
          <div>
            {cut(h.text, 400)}
            {h.advice && <p class="muted">{cut(h.advice, 400)}</p>}
          </div>
        </li>
      ))}
    </ul>
  );
}

function Recording({ system: s }: { system: SystemReply }) {
  if (!s.recording) return <p class="note">{cut(s.recording_reason ?? "not known", 300)}</p>;
  return (
    <ul class="checks">
      {s.recording.map((a) => (
        <li key={a.name} class={a.works ? "ok" : "warning"}>
          <b class="pill">{a.works ? "works" : "not here"}</b>
          <div>
            {plain(cut(a.name, 80))}
            <p class="muted">{cut(a.detail, 400)}</p>
          </div>
        </li>
      ))}
    </ul>
  );
}

function Machine() {
  const all = useLoad("system", (signal) => client.fresh("system", {}, signal));
  const [live, again] = useLoad("system gpus", (signal) => client.fresh("system", { recording: false }, signal));
  const [readings, setReadings] = useState<Map<number, GpuReadings>>(new Map());
  // biome-ignore lint/correctness/useExhaustiveDependencies: the next look follows the last reply
  useEffect(() => {
    if (live.state === "loaded") setReadings((before) => withReading(before, live.reply.gpus));
    const timer = setTimeout(() => again(true), LOOK_EVERY_MS);
    return () => clearTimeout(timer);
  }, [live]);
  return (
    <Loaded what="the machine" from={all}>
      {(system) => {
        const now = live.state === "loaded" ? live.reply : system;
        return (
          <>
            <section id="gpus">
              <h2>GPUs</h2>
              {now.gpus.length > 0 && (
                <div class="gpus">
                  {now.gpus.map((g) => (
                    <GpuCard key={g.index} gpu={g} readings={readings.get(g.index)} />
                  ))}
                </div>
              )}
              {now.gpus_reason && <p class="note">{cut(now.gpus_reason, 300)}</p>}
              {live.state === "failed" && (
                <p class="loss bad" role="alert">
                  These figures are old: {cut(live.problem.detail, 200)}
                </p>
              )}
            </section>
            <section id="health">
              <h2>Health</h2>
              <Health checks={now.health} />
            </section>
            <section id="recording">
              <h2>What can be recorded here</h2>
              <Recording system={system} />
            </section>
            <section id="software">
              <h2>Software</h2>
              <Stack system={system} />
            </section>
          </>
        );
      }}
    </Loaded>
  );
}

function MeasuredRates() {
  return (
    <Called name="peaks" params={{}} what="the measured peaks">
      {({ compared, measured }) =>
        compared.length === 0 ? (
          <p class="note">
            Not measured yet. <code>neurolens peaks measure</code> measures what this machine reaches.
          </p>
        ) : (
          <>
            <SortTable
              id="measured"
              rows={compared}
              sort=""
              columns={[
                { key: "device", label: "Device", text: true, value: (f) => f.device },
                { key: "figure", label: "Figure", text: true, value: (f) => f.figure },
                {
                  key: "measured",
                  label: "Measured",
                  value: (f) => f.measured,
                  show: (f) => (f.measured === null ? cut(f.reason ?? "–", 80) : `${short3(f.measured)} ${f.unit}`),
                },
                {
                  key: "datasheet",
                  label: "Datasheet",
                  value: (f) => f.datasheet,
                  show: (f) => (f.datasheet === null ? "–" : `${short3(f.datasheet)} ${f.unit}`),
                },
                {
                  key: "ratio",
                  label: "Reached",
                  value: (f) => f.ratio,
                  show: (f) => (f.ratio === null ? "–" : pct(f.ratio, 0)),
                },
                {
                  key: "spread",
                  label: "Spread",
                  value: (f) => f.spread,
                  show: (f) => (f.spread === null ? "–" : pct(f.spread, 1)),
                },
                { key: "how", label: "How", text: true, value: (f) => f.how ?? "" },
              ]}
            />
            <p class="note">
              {measured.map((m) => `${m.name}: ${m.measured_at}, driver ${m.driver_version}`).join("; ")}
            </p>
          </>
        )
      }
    </Called>
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
                <b>{cut(b.name, 80)}</b>
                {b.note && ` (${cut(b.note, 120)})`}, {plural(b.runs.length, "run")}:{" "}
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
      <section id="peaks-measured">
        <h2>Measured peaks</h2>
        <MeasuredRates />
      </section>
      <section>
        <h2>Formats that can be imported</h2>
        <Formats />
      </section>
      <section>
        <h2>Peak rates by datasheet</h2>
        <Peaks />
      </section>
      <section>
        <h2>Baselines</h2>
        <Baselines />
      </section>
    </>
  );
}
