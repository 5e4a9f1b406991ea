// SPDX-License-Identifier: Apache-2.0
// Where a note leads: the event or the time it is about, in the timeline, else the run.
import type { RunNote } from "../../data/generated";
import { runAddress } from "../route";

const AROUND = 0.25; // of the time, to both sides

export function noteAddress(run: string, note: RunNote): string {
  const fields: Record<string, string> = { note: String(note.id) };
  if (note.table !== null && note.event_id !== null) fields.event = `${note.table}:${note.event_id}`;
  if (note.from_ns !== null && note.to_ns !== null) {
    const around = (note.to_ns - note.from_ns) * AROUND;
    const msText = (ns: number) => String(Number((ns / 1e6).toFixed(6)));
    fields.area = `${note.from_ns},${note.to_ns}`;
    fields.from = msText(note.from_ns - around);
    fields.to = msText(note.to_ns + around);
  }
  return fields.event || fields.area ? runAddress(run, "timeline", fields) : runAddress(run, "overview", fields);
}

// What it is about, in words.
export function noteSubject(note: RunNote, time: (ns: number) => string): string {
  if (note.table !== null && note.event_id !== null) return `${note.table.replaceAll("_", " ")} ${note.event_id}`;
  if (note.from_ns !== null && note.to_ns !== null) return `${time(note.from_ns)} to ${time(note.to_ns)}`;
  return "the run";
}
