// SPDX-License-Identifier: Apache-2.0
// What the server is and what it can read: version, formats, known device peaks, rules, baselines.
import { useEffect } from "preact/hooks";
import { cut, plural, short3 } from "../../widgets/format";
import { SortTable } from "../../widgets/table";
import { runAddress } from "../route";
import { Called } from "../states";

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
      <p class="note">
        What can be recorded on a machine is a question to the machine itself: <code>neurolens doctor</code> answers it
        there.
      </p>
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
