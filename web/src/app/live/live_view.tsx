// SPDX-License-Identifier: Apache-2.0
// Recordings that are under way: a list of them, and of the chosen one what is known so far, with a timeline that grows.
import { useEffect, useRef, useState } from "preact/hooks";
import type { LiveRow } from "../../data/generated";
import { bytes, capitalised, count, cut, ms } from "../../widgets/format";
import { SortTable } from "../../widgets/table";
import { changeFields, useRoute } from "../navigation";
import { runAddress } from "../route";
import { Explained } from "../run/overview";
import { client, connection, newRuns, recordings, useChannel, useLoad } from "../session";
import { EmptyNote, Loaded, ProblemNote } from "../states";
import { TimelineTab } from "../timeline/timeline_tab";
import { chosenRow, mergedRows, programOf } from "./live_rows";

const LOOK_EVERY_MS = 5000; // at a partial run, while it grows

function Recordings({ rows, chosen }: { rows: LiveRow[]; chosen: string }) {
  return (
    <SortTable
      id="recordings"
      rows={rows}
      sort=""
      columns={[
        {
          key: "program",
          label: "Program",
          text: true,
          value: programOf,
          show: (r) => (
            <a href={`/live?recording=${encodeURIComponent(r.live_id)}`} aria-current={r.live_id === chosen && "true"}>
              {cut(programOf(r), 100)}
            </a>
          ),
        },
        {
          key: "state",
          label: "State",
          text: true,
          value: (r) => r.state,
          show: (r) => (r.recording === false ? "Paused" : capitalised(r.state)),
        },
        { key: "elapsed", label: "Time", value: (r) => r.elapsed_ms, show: (r) => ms(r.elapsed_ms) },
        { key: "kernels", label: "Kernels", value: (r) => r.kernels, show: (r) => count(r.kernels) },
        { key: "ranges", label: "Ranges", value: (r) => r.ranges, show: (r) => count(r.ranges) },
        { key: "lost", label: "Lost records", value: (r) => r.lost_records, show: (r) => count(r.lost_records) },
        { key: "size", label: "Size", value: (r) => r.bytes, show: (r) => bytes(r.bytes) },
      ]}
    />
  );
}

// The newest partial run of a recording; another one from time to time while it grows and is followed.
function Partial({ row, isFollowed }: { row: LiveRow; isFollowed: boolean }) {
  const [now, again] = useLoad(row.ref, (signal) => client.fresh("show", { run: row.ref }, signal));
  const shown = useRef("");
  const lookedAt = useRef(performance.now());
  useEffect(() => {
    if (now.state === "loaded") lookedAt.current = performance.now();
  }, [now]);
  useChannel(recordings, (event) => {
    if (!isFollowed || event.live_id !== row.live_id || performance.now() - lookedAt.current < LOOK_EVERY_MS) return;
    lookedAt.current = performance.now();
    again(true);
  });
  if (now.state === "loaded") shown.current = now.reply.run.run_id;
  if (now.state === "failed" && now.problem.code === "not_found") return null; // it has just ended
  if (now.state === "failed" && !shown.current) return <ProblemNote problem={now.problem} onRetry={() => again()} />;
  if (!shown.current) return <Loaded what="what is recorded so far" from={[now, again]} children={() => null} />;
  return (
    <div key={shown.current} data-partial={shown.current}>
      <Explained run={shown.current} />
      <section>
        <h2>Timeline</h2>
        <TimelineTab run={shown.current} isPartial />
      </section>
    </div>
  );
}

function Ended({ run }: { run: string }) {
  return (
    <p class="note" role="status">
      The recording has ended. {run ? <a href={runAddress(run)}>Open its run</a> : "Its run is being imported."}
    </p>
  );
}

export function LiveView() {
  const { fields } = useRoute();
  const [now, again] = useLoad("live", (signal) => client.fresh("live", {}, signal));
  const [rows, setRows] = useState<LiveRow[]>([]);
  const [ended, setEnded] = useState<{ live: string; run: string } | null>(null);
  const isFollowed = fields.get("follow") !== "no";
  useEffect(() => {
    document.title = "Live – NeuroLens";
  }, []);
  useEffect(() => {
    if (now.state === "loaded") setRows(now.reply.recordings);
  }, [now]);
  const row = chosenRow(rows, fields.get("recording"));
  useChannel(recordings, (event) => {
    if (event.state === "ended" && event.live_id === row?.live_id)
      setEnded((e) => ({ live: event.live_id, run: e?.run ?? "" }));
    setRows((all) => mergedRows(all, event));
  });
  // The run of a recording has an id of its own; the one that comes at its end is it.
  useChannel(newRuns, (run) => {
    if (row || ended) setEnded((e) => ({ live: e?.live ?? row?.live_id ?? "", run: run.run_id }));
  });
  useChannel(connection, (state) => state === "reconnected" && again(true));
  return (
    <>
      <div class="title">
        <h1>Live</h1>
        {row && (
          <label>
            <input
              type="checkbox"
              checked={isFollowed}
              onChange={(e) => changeFields({ follow: e.currentTarget.checked ? "" : "no" })}
            />{" "}
            Follow
          </label>
        )}
      </div>
      {ended && ended.live !== row?.live_id && <Ended run={ended.run} />}
      <Loaded what="the recordings" from={[now, again]}>
        {() =>
          rows.length === 0 ? (
            <EmptyNote title="Nothing is being recorded">
              <p>
                Start <code>neurolens run -- python3 train.py</code> with the store of this server: the recording is
                shown here while it runs.
              </p>
            </EmptyNote>
          ) : (
            <Recordings rows={rows} chosen={row?.live_id ?? ""} />
          )
        }
      </Loaded>
      {row && <Partial key={row.live_id} row={row} isFollowed={isFollowed} />}
    </>
  );
}
