// SPDX-License-Identifier: Apache-2.0
// Memory and hardware counters of a run, read by SQL from its tables.
import type { QueryReply, ReportMemory, ShowReply } from "../../data/generated";
import { MemoryView } from "../../report/memory";
import { count } from "../../widgets/format";
import { runAddress } from "../route";
import { ResultGrid } from "../sql/result_grid";
import { Called, EmptyNote } from "../states";
import { memoryOf } from "./memory_rows";

const has = (show: ShowReply, table: string): boolean => show.tables.some((t) => t.name === table && t.rows !== 0);

// Peaks of time slices, so that a curve of any length fits the page.
const MEMORY_SQL = `WITH e AS (
  SELECT device, start_ns, total_allocated_bytes AS allocated, total_reserved_bytes AS reserved
  FROM memory_event WHERE device >= 0 AND total_allocated_bytes IS NOT NULL),
edges AS (SELECT min(start_ns) AS t0, greatest(max(start_ns) - min(start_ns), 1) AS len FROM e)
SELECT device, ((start_ns - t0) * 600) // len AS slice, min(start_ns - t0) / 1e6 AS at_ms,
  max(allocated) AS allocated_bytes, max(reserved) AS reserved_bytes, count(*) AS events
FROM e, edges GROUP BY 1, 2 ORDER BY 1, 2`;

const COUNTERS_SQL = `SELECT k.name AS kernel, any_value(c.source) AS source, count(*) AS measured,
  sum(c.dur_ns) / 1e6 AS total_ms, avg(c.achieved_occupancy) AS occupancy, avg(c.sm_throughput) AS sm_throughput,
  avg(c.dram_throughput) AS dram_throughput, avg(c.tensor_active) AS tensor_active
FROM kernel_counter c JOIN kernel k ON k.id = c.kernel_id GROUP BY 1 ORDER BY 4 DESC NULLS LAST LIMIT 1000`;

const SAMPLES_SQL = `SELECT name, series, count(*) AS samples, min(value) AS least, median(value) AS median,
  max(value) AS most FROM counter_sample GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 1000`;

export function MemoryTab({ show }: { show: ShowReply }) {
  const run = show.run.run_id;
  return (
    <section>
      <h2>Memory</h2>
      {has(show, "memory_event") ? (
        <Called name="query" params={{ args: [run, MEMORY_SQL] }} what="the memory">
          {(reply: QueryReply) => {
            const memory: ReportMemory = memoryOf(reply.rows);
            return memory.series.length > 0 ? (
              <>
                <MemoryView memory={memory} />
                <p class="note">
                  {count(memory.events)} allocation events; each point is the most of one of 600 slices of time.
                </p>
              </>
            ) : (
              <EmptyNote title="No device memory">
                <p>The allocation events of this run are of the host only.</p>
              </EmptyNote>
            );
          }}
        </Called>
      ) : (
        <EmptyNote title="No allocation events were recorded">
          <p>
            Record with memory events, for example <code>torch.profiler.profile(profile_memory=True)</code>.
          </p>
        </EmptyNote>
      )}
    </section>
  );
}

export function CountersTab({ show }: { show: ShowReply }) {
  const run = show.run.run_id;
  const kernels = has(show, "kernel_counter");
  const samples = has(show, "counter_sample");
  if (!kernels && !samples)
    return (
      <section>
        <h2>Counters</h2>
        <EmptyNote title="No hardware counters were recorded">
          <p>
            Import a profile of Nsight Compute, or attach one to this run:{" "}
            <code>neurolens import --attach RUN FILE</code>.
          </p>
        </EmptyNote>
      </section>
    );
  return (
    <>
      {kernels && (
        <section>
          <h2>Counters by kernel</h2>
          <Called name="query" params={{ args: [run, COUNTERS_SQL] }} what="the counters">
            {(reply) => <ResultGrid run={run} sql={COUNTERS_SQL} reply={reply} />}
          </Called>
          <p class="note">
            Means over the measured executions. <a href={runAddress(run, "sql", { q: COUNTERS_SQL })}>Open as SQL</a>
          </p>
        </section>
      )}
      {samples && (
        <section>
          <h2>Sampled counters</h2>
          <Called name="query" params={{ args: [run, SAMPLES_SQL] }} what="the samples">
            {(reply) => <ResultGrid run={run} sql={SAMPLES_SQL} reply={reply} />}
          </Called>
        </section>
      )}
    </>
  );
}
