// SPDX-License-Identifier: Apache-2.0
// The notes of a run: what people wrote about it, its times and its events, and a field to write one.
import { useState } from "preact/hooks";
import type { NoteParams } from "../../data/api";
import type { NotesReply, RunNote } from "../../data/generated";
import { cut, ms, plain } from "../../widgets/format";
import { useField } from "../navigation";
import type { Loading, Reload } from "../session";
import { client, notices, problemFrom, useLoad } from "../session";
import { Loaded } from "../states";
import { noteAddress, noteSubject } from "./note_links";

export type NotesState = [Loading<NotesReply>, Reload];

// Notes change while a page is open: they are read anew each time. A run that is not kept has none.
export function useNotes(run: string, isKept = true): NotesState {
  return useLoad(`notes ${run}`, async (signal) =>
    isKept
      ? client.json<NotesReply>(`/api/v1/runs/${encodeURIComponent(run)}/notes`, { signal })
      : { run_id: run, notes: [] },
  );
}

export interface NoteSubject {
  area: [number, number] | null; // ns
  event: { table: string; id: number } | null;
}

const time = (ns: number): string => ms(ns / 1e6);

async function change(params: NoteParams, again: Reload): Promise<boolean> {
  try {
    await client.call("note", params);
  } catch (error) {
    notices.send({ kind: "bad", text: problemFrom(error).detail });
    return false;
  }
  again(true);
  return true;
}

function Note({ run, note, again }: { run: string; note: RunNote; again: Reload }) {
  const [shown] = useField("note");
  return (
    <li class={shown === String(note.id) ? "shown" : ""} data-note={note.id}>
      <p>{cut(note.text, 10_000)}</p>
      <p class="muted">
        {note.author && <b>{`${cut(note.author, 60)} `}</b>}
        {note.created_at.slice(0, 16).replace("T", " ")} about{" "}
        <a href={noteAddress(run, note)}>{cut(noteSubject(note, time), 100)}</a>
        <button
          type="button"
          class="quiet"
          aria-label={`Remove note ${note.id}`}
          onClick={() => change({ run, remove: note.id }, again)}
        >
          Remove
        </button>
      </p>
    </li>
  );
}

function subjectParams({ area, event }: NoteSubject): Partial<NoteParams> {
  if (event) return { table: event.table as NoteParams["table"], event_id: event.id };
  return area ? { from_ns: Math.round(area[0]), to_ns: Math.round(area[1]) } : {};
}

function aboutText({ area, event }: NoteSubject): string {
  if (event) return `${plain(event.table)} ${event.id}`;
  return area ? `${time(area[0])} to ${time(area[1])}` : "the run";
}

function NoteField({ run, subject, again }: { run: string; subject: NoteSubject; again: Reload }) {
  const [text, setText] = useState("");
  const add = async () => {
    if (await change({ run, text, ...subjectParams(subject) }, again)) setText("");
  };
  return (
    <form
      class="notefield"
      onSubmit={(e) => {
        e.preventDefault();
        if (text.trim()) add();
      }}
    >
      <textarea
        rows={2}
        maxLength={5000}
        aria-label={`Note about ${aboutText(subject)}`}
        placeholder={`Note about ${aboutText(subject)}`}
        value={text}
        onInput={(e) => setText(e.currentTarget.value)}
      />
      <button type="submit" disabled={!text.trim()}>
        Add note
      </button>
    </form>
  );
}

interface Props {
  run: string;
  from: NotesState;
  subject?: NoteSubject;
}

export function NotesPanel({ run, from, subject = { area: null, event: null } }: Props) {
  return (
    <section id="notes">
      <h2>Notes</h2>
      <Loaded what="the notes" from={from}>
        {(reply) => (
          <ul class="notes">
            {reply.notes.map((note) => (
              <Note key={note.id} run={run} note={note} again={from[1]} />
            ))}
          </ul>
        )}
      </Loaded>
      <NoteField run={run} subject={subject} again={from[1]} />
    </section>
  );
}
