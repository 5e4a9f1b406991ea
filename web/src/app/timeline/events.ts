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

export interface ChosenEvent {
  table: string;
  id: number;
  depth: number | null; // of a box of stacks
}

// "kernel:12" or "cpu_sample:12:3" of an address; null when it is not such a text.
export function parseEvent(text: string): ChosenEvent | null {
  const found = /^([a-z_]+):(\d+)(?::(\d+))?$/.exec(text);
  return found ? { table: found[1], id: Number(found[2]), depth: found[3] ? Number(found[3]) : null } : null;
}

export const eventField = ({ table, id, depth }: ChosenEvent): string =>
  depth === null ? `${table}:${id}` : `${table}:${id}:${depth}`;

// Events whose name contains the text: how many, and those beside a time.
export const findEvents = (
  run: string,
  text: string,
  at_ns: number,
  signal?: AbortSignal,
): Promise<TimelineFindReply> =>
  client.call("timeline-find", { run, text, from_ns: Math.floor(at_ns), limit: 20 }, signal);

// An event with its chain: its launch, its operator, what encloses them, and what it caused.
export const readEvent = (run: string, event: ChosenEvent, signal?: AbortSignal): Promise<TimelineEventReply> =>
  client.call(
    "timeline-event",
    { run, table: event.table as SpanTable, id: event.id, ...(event.depth === null ? {} : { depth: event.depth }) },
    signal,
  );

// The analysis of the run says nothing about single CPU samples.
export const isAnalysed = (event: ChosenEvent | null): event is ChosenEvent =>
  event !== null && event.table !== "cpu_sample";

// The same with what the analysis of the run knows, and the other members of a collective.
export const readAnalysis = (run: string, event: ChosenEvent, signal?: AbortSignal): Promise<TimelineEventReply> =>
  client.call("timeline-event", { run, table: event.table as SpanTable, id: event.id, analysis: true }, signal);

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
