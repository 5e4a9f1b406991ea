// SPDX-License-Identifier: Apache-2.0
// The chosen event, below the timeline.
import type { TimelineChainLink, TimelineEventReply, TimelineLane } from "../../data/generated";
import { cut, ms, plain } from "../../widgets/format";
import { runAddress } from "../route";
import type { Loading, Reload } from "../session";
import { Loaded } from "../states";
import { SinceEarlier } from "./earlier_run";
import { EventLimits } from "./event_limits";
import type { ChosenEvent } from "./events";
import { SampledStack } from "./stack_panel";

interface EventProps {
  run: string;
  chosen: ChosenEvent;
  from: [Loading<TimelineEventReply | null>, Reload];
  analysis: [Loading<TimelineEventReply | null>, Reload];
  lanes: TimelineLane[];
  onClose: () => void;
}

const ROLES: Record<string, string> = {
  event: "event",
  launch: "launched by",
  operator: "operator",
  inside: "inside",
  step: "step",
  caused: "launched",
};

function Chain({ run, chain }: { run: string; chain: TimelineChainLink[] }) {
  return (
    <table class="factlist" aria-label="What led to the event">
      <tbody>
        {chain.map((c) => (
          <tr key={`${c.role} ${c.table} ${c.id}`}>
            <th scope="row">{ROLES[c.role] ?? c.role}</th>
            <td>
              {c.lane === null || c.role === "event" ? (
                cut(c.name, 120)
              ) : (
                <a href={runAddress(run, "timeline", { event: `${c.table}:${c.id}` })}>{cut(c.name, 120)}</a>
              )}
            </td>
            <td class="num">{ms(c.dur_ns === null ? null : c.dur_ns / 1e6)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Columns({ label, of }: { label: string; of: TimelineEventReply["columns"] }) {
  return (
    <details>
      <summary>{label}</summary>
      <table class="factlist" aria-label={label}>
        <tbody>
          {Object.entries(of).map(([name, value]) => (
            <tr key={name}>
              <th scope="row">{plain(cut(name, 80))}</th>
              <td>{cut(String(value ?? "–"), 400)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}

// The rank or device of a lane: the names of what it is drawn below.
function placeOf(lanes: TimelineLane[], id: number | null): string {
  const names: string[] = [];
  for (let lane = lanes.find((l) => l.id === id); lane; lane = lanes.find((l) => l.id === lane?.parent))
    names.unshift(lane.name);
  return names.join(", ");
}

// The same collective on the other ranks, once the analysis has matched them.
function Peers({ run, from, lanes }: Pick<EventProps, "run" | "lanes"> & { from: EventProps["analysis"] }) {
  const [now] = from;
  const chain = (now.state === "loaded" && now.reply?.chain) || [];
  const peers = chain.filter((c) => c.role === "peer");
  const event = chain.find((c) => c.role === "event");
  if (!event || peers.length === 0) return null;
  return (
    <>
      <h4>The same collective elsewhere</h4>
      <table class="factlist" aria-label="The same collective elsewhere">
        <thead>
          <tr>
            <th scope="col">Where</th>
            <th scope="col">Starts</th>
            <th scope="col">Duration</th>
          </tr>
        </thead>
        <tbody>
          {peers.map((c) => (
            <tr key={`${c.table} ${c.id}`}>
              <th scope="row">
                <a href={runAddress(run, "timeline", { event: `${c.table}:${c.id}` })}>
                  {cut(placeOf(lanes, c.lane), 80)}
                </a>
              </th>
              <td class="num">{afterText(c.start_ns - event.start_ns)}</td>
              <td class="num">{ms(c.dur_ns === null ? null : c.dur_ns / 1e6)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="note">
        Times as recorded; <a href={runAddress(run, "ranks")}>Ranks</a> corrects the clocks.
      </p>
    </>
  );
}

const afterText = (ns: number): string =>
  ns === 0 ? "at the same time" : `${ms(Math.abs(ns) / 1e6)} ${ns > 0 ? "later" : "earlier"}`;

export function EventPanel({ run, chosen, from, analysis, lanes, onClose }: EventProps) {
  return (
    <section id="event">
      <div class="title">
        <h2>Event</h2>
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
      <Loaded what="the event" from={from}>
        {(reply) => {
          const event = reply?.chain.find((c) => c.role === "event");
          if (!reply || !event) return null;
          const sql = runAddress(run, "sql", { q: `SELECT * FROM "${chosen.table}" WHERE id = ${chosen.id}` });
          if (reply.stack)
            return (
              <>
                <SampledStack chosen={chosen} reply={reply} stack={reply.stack} sql={sql} />
                <Columns label="All columns" of={reply.columns} />
              </>
            );
          return (
            <>
              <h3>{cut(event.name, 300)}</h3>
              <p class="facts">
                <span>{plain(event.table)}</span>
                <span>
                  <b>{ms((event.dur_ns ?? 0) / 1e6)}</b>
                </span>
                <span>starts at {ms(event.start_ns / 1e6)}</span>
                <a href={sql}>SQL</a>
                <SinceEarlier run={run} />
              </p>
              <Chain run={run} chain={reply.chain} />
              {Object.keys(reply.counters).length > 0 && <Columns label="Counters" of={reply.counters} />}
              <Columns label="All columns" of={reply.columns} />
              <Peers run={run} from={analysis} lanes={lanes} />
              <EventLimits run={run} from={analysis} />
            </>
          );
        }}
      </Loaded>
    </section>
  );
}
