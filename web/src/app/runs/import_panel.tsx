// SPDX-License-Identifier: Apache-2.0
// Import of profiles: dropped onto the page or chosen, with the progress of each.
import { useEffect, useRef, useState } from "preact/hooks";
import type { ProblemDocument } from "../../data/client";
import { uploadProfile } from "../../data/upload";
import { bytes, cut, pct } from "../../widgets/format";
import { runAddress } from "../route";
import { imports, problemFrom, useChannel } from "../session";
import { ProblemNote } from "../states";

interface Job {
  id: number;
  name: string;
  size: number;
  sent: number;
  read: number | null; // by the importer, which may be behind
  run: string | null;
  isDuplicate: boolean;
  problem: ProblemDocument | null;
  stop: AbortController;
}

let nextId = 1;

// Files that are dropped anywhere on the page; `onOver` while one is held above it.
function useDrop(onFiles: (files: File[]) => void, onOver: (over: boolean) => void): void {
  const latest = useRef({ onFiles, onOver });
  latest.current = { onFiles, onOver };
  useEffect(() => {
    const hasFiles = (e: DragEvent) => e.dataTransfer?.types.includes("Files") ?? false;
    const over = (e: DragEvent) => {
      if (!hasFiles(e)) return;
      e.preventDefault();
      latest.current.onOver(true);
    };
    const leave = (e: DragEvent) => {
      if (e.relatedTarget === null) latest.current.onOver(false);
    };
    const drop = (e: DragEvent) => {
      if (!hasFiles(e)) return;
      e.preventDefault();
      latest.current.onOver(false);
      latest.current.onFiles([...(e.dataTransfer?.files ?? [])]);
    };
    document.addEventListener("dragover", over);
    document.addEventListener("dragleave", leave);
    document.addEventListener("drop", drop);
    return () => {
      document.removeEventListener("dragover", over);
      document.removeEventListener("dragleave", leave);
      document.removeEventListener("drop", drop);
    };
  }, []);
}

function JobRow({ job, onClose }: { job: Job; onClose: () => void }) {
  const done = job.read ?? job.sent;
  const isRunning = job.run === null && job.problem === null;
  return (
    <li class="job">
      <span class="jobname">{cut(job.name, 80)}</span>
      {isRunning && (
        <>
          <progress max={Math.max(1, job.size)} value={done} aria-label={`Import of ${cut(job.name, 80)}`} />
          <span class="num">
            {bytes(done)} of {bytes(job.size)}, {pct(job.size > 0 ? done / job.size : 0, 0)}
          </span>
        </>
      )}
      {job.run !== null && (
        <span>
          {job.isDuplicate ? "already in the store: " : "imported: "}
          <a href={runAddress(job.run)}>{job.run.slice(0, 13)}</a>
        </span>
      )}
      <button type="button" onClick={onClose}>
        {isRunning ? "Cancel" : "Close"}
      </button>
      {job.problem && <ProblemNote problem={job.problem} />}
    </li>
  );
}

export function ImportPanel({ onDone }: { onDone: () => void }) {
  const [jobs, setJobs] = useState<Job[]>([]);
  const [over, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const change = (id: number, changes: Partial<Job>) =>
    setJobs((all) => all.map((j) => (j.id === id ? { ...j, ...changes } : j)));

  const start = (file: File) => {
    const stop = new AbortController();
    const id = nextId++;
    const base = { sent: 0, read: null, run: null, isDuplicate: false, problem: null };
    setJobs((all) => [...all, { ...base, id, name: file.name, size: file.size, stop }]);
    uploadProfile(file, {}, (sent) => change(id, { sent }), stop.signal)
      .then((reply) => {
        const [made] = reply.runs;
        const failed = reply.errors[0];
        if (made) change(id, { run: made.run_id, isDuplicate: made.duplicate });
        else
          change(id, {
            problem: problemFrom(new Error(failed ? failed.message : "the server stored no run from this file")),
          });
        onDone();
      })
      .catch((error) => {
        if (!stop.signal.aborted) change(id, { problem: problemFrom(error) });
      });
  };
  const startAll = (files: File[]) => files.forEach(start);
  useDrop(startAll, setOver);
  useChannel(imports, (progress) => {
    const job = jobs.find((j) => j.name === progress.name && j.run === null && j.problem === null);
    if (job) change(job.id, { read: progress.done_bytes });
  });
  const close = (job: Job) => {
    job.stop.abort();
    setJobs((all) => all.filter((j) => j !== job));
  };
  return (
    <>
      <button type="button" onClick={() => input.current?.click()}>
        Import a profile…
      </button>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label="Profiles to import"
        onChange={(e) => {
          startAll([...(e.currentTarget.files ?? [])]);
          e.currentTarget.value = "";
        }}
      />
      {jobs.length > 0 && (
        <ul class="jobs" aria-label="Imports">
          {jobs.map((job) => (
            <JobRow key={job.id} job={job} onClose={() => close(job)} />
          ))}
        </ul>
      )}
      {over && <div class="dropzone">Drop the profile to import it</div>}
    </>
  );
}
