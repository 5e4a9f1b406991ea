// SPDX-License-Identifier: Apache-2.0
// The timeline of a run: its lanes are loaded first, then the tiles of the window that is shown.
import { useState } from "preact/hooks";
import { preparing, useCall, useChannel } from "../session";
import { EmptyNote, Loaded, LoadingNote } from "../states";
import { TimelineView } from "./timeline_view";

// The first look at a large run makes its overview, once.
function Preparing({ run }: { run: string }) {
  const [share, setShare] = useState<number | null>(null);
  useChannel(preparing, (progress) => {
    if (progress.run === run && progress.total_bytes) setShare(progress.done_bytes / progress.total_bytes);
  });
  if (share === null) return <LoadingNote what="the lanes" />;
  return (
    <p class="state" role="status" aria-busy="true">
      <span class="spinner" aria-hidden="true" /> Preparing the overview of this run, once: {Math.round(100 * share)} %{" "}
      <progress value={share} aria-label="Overview of the timeline" />
    </p>
  );
}

// `isPartial`: of a recording that is under way, which nobody can write notes about.
export function TimelineTab({ run, isPartial = false }: { run: string; isPartial?: boolean }) {
  const lanes = useCall("timeline-lanes", { run });
  const [now] = lanes;
  if (now.state === "loading") return <Preparing run={run} />;
  if (now.state === "failed" && now.problem.status === 422)
    return (
      <EmptyNote title="This run has no timeline">
        <p>{now.problem.detail}</p>
      </EmptyNote>
    );
  return (
    <Loaded what="the lanes" from={lanes}>
      {(reply) =>
        reply.lanes.length === 0 ? (
          <EmptyNote title="This run has no timeline">
            <p>The profile has durations without times.</p>
          </EmptyNote>
        ) : (
          <TimelineView run={run} lanes={reply} isPartial={isPartial} />
        )
      }
    </Loaded>
  );
}
