// SPDX-License-Identifier: Apache-2.0
// Single events of a timeline: found by name and looked up with their chain. Times are ns from
// the zero of the timeline.
import type { TimelineEventParams } from "../../data/api";
import type { TimelineChainLink, TimelineEventReply, TimelineFindReply } from "../../data/generated";
import { client } from "../session";

export interface EventPlace {
  table: string;
  id: number;
  name: string;
  start_ns: number;
  dur_ns: number;
}

export type SpanTable = TimelineEventParams["table"];

// "kernel:12" of an address; null when it is not such a text.
export function parseEvent(text: string): { table: string; id: number } | null {
  const found = /^([a-z_]+):(\d+)$/.exec(text);
  return found ? { table: found[1], id: Number(found[2]) } : null;
}

// Events whose name contains the text: how many, and those beside a time.
export const findEvents = (
  run: string,
  text: string,
  at_ns: number,
  signal?: AbortSignal,
): Promise<TimelineFindReply> =>
  client.call("timeline-find", { run, text, from_ns: Math.floor(at_ns), limit: 20 }, signal);

// An event with its chain: its launch, its operator, what encloses them, and what it caused.
export const readEvent = (run: string, table: string, id: number, signal?: AbortSignal): Promise<TimelineEventReply> =>
  client.call("timeline-event", { run, table: table as SpanTable, id }, signal);

// The same with what the analysis of the run knows, and the other members of a collective.
export const readAnalysis = (
  run: string,
  table: string,
  id: number,
  signal?: AbortSignal,
): Promise<TimelineEventReply> =>
  client.call("timeline-event", { run, table: table as SpanTable, id, analysis: true }, signal);

export interface Flow {
  from: { lane: number; at_ns: number };
  to: { lane: number; at_ns: number };
}

// What launched the event, what the event launched, and the same collective on other ranks, as lines between lanes.
export function flowsOf(chain: TimelineChainLink[]): Flow[] {
  const event = chain.find((c) => c.role === "event");
  if (!event || event.lane === null) return [];
  const self = { lane: event.lane, at_ns: event.start_ns };
  return chain.flatMap((c): Flow[] => {
    if (c.lane === null) return [];
    const other = { lane: c.lane, at_ns: c.start_ns };
    if (c.role === "launch") return [{ from: other, to: self }];
    return c.role === "caused" || c.role === "peer" ? [{ from: self, to: other }] : [];
  });
}
