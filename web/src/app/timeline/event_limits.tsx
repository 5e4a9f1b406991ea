// SPDX-License-Identifier: Apache-2.0
// What the analysis knows about the chosen event: how near it is to its limit, and the findings that name it.
import type { TimelineEventAnalysis, TimelineEventReply } from "../../data/generated";
import { cut, ms, pct, short3 } from "../../widgets/format";
import { runAddress } from "../route";
import type { Loading, Reload } from "../session";
import { Loaded } from "../states";

function Limit({ run, analysis }: { run: string; analysis: TimelineEventAnalysis }) {
  const row = analysis.roofline;
  const href = runAddress(run, "roofline", row?.op ? { row: row.op } : {});
  if (!row || row.efficiency === null) {
    const why = row?.reason ?? analysis.roofline_reason;
    return (
      <p class="note">
        How near it is to its limit is not known{why ? `: ${cut(why, 300)}` : ""}. <a href={href}>Roofline</a>
      </p>
    );
  }
  return (
    <p class="facts">
      <span>
        <b>{pct(row.efficiency, row.efficiency < 0.1 ? 1 : 0)}</b> of what the device can do
      </span>
      {row.bound && <span>{row.bound}-bound</span>}
      {row.tflops !== null && <span>{short3(row.tflops)} TFLOP/s</span>}
      {row.gbps !== null && <span>{short3(row.gbps)} GB/s</span>}
      <span>{row.source === "counters" ? "from counters" : "from input shapes"}</span>
      <a href={href}>Roofline</a>
    </p>
  );
}

function Named({ run, analysis }: { run: string; analysis: TimelineEventAnalysis }) {
  if (analysis.findings.length === 0) return <p class="note">No finding names this event.</p>;
  return (
    <ul class="named">
      {analysis.findings.map((f) => (
        <li key={`${f.rule} ${f.kernel ?? ""} ${f.op ?? ""}`}>
          <a href={runAddress(run, "overview", { row: f.rule })}>{cut(f.title, 120)}</a>
          {f.gain_ms !== null && <span class="muted"> {ms(f.gain_ms.expected)} predicted gain</span>}
          <p>{cut(f.message, 400)}</p>
        </li>
      ))}
    </ul>
  );
}

export function EventLimits({ run, from }: { run: string; from: [Loading<TimelineEventReply | null>, Reload] }) {
  return (
    <div class="limits">
      <h4>Limit and findings</h4>
      <Loaded what="the analysis of the event" from={from}>
        {(reply) =>
          reply?.analysis && (
            <>
              <Limit run={run} analysis={reply.analysis} />
              <Named run={run} analysis={reply.analysis} />
            </>
          )
        }
      </Loaded>
    </div>
  );
}
