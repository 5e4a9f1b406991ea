// SPDX-License-Identifier: Apache-2.0
// The timeline of a run: its lanes are loaded first, then the tiles of the window that is shown.
import { useCall } from "../session";
import { EmptyNote, Loaded } from "../states";
import { TimelineView } from "./timeline_view";

export function TimelineTab({ run }: { run: string }) {
  const lanes = useCall("timeline-lanes", { run });
  const [now] = lanes;
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
          <TimelineView run={run} lanes={reply} />
        )
      }
    </Loaded>
  );
}
