// SPDX-License-Identifier: Apache-2.0
// Saves the whole result of a query as a file that the server makes: also the rows that the page does not show.
import { useRef, useState } from "preact/hooks";
import type { ProblemDocument } from "../../data/client";
import { client, problemFrom } from "../session";

type Format = "csv" | "parquet";
const LABELS: Record<Format, string> = { csv: "CSV", parquet: "Parquet" };
const MOST_ROWS = 10_000_000;
const REVOKE_MS = 10_000;

function save(file: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), REVOKE_MS);
}

export interface Saving {
  format: Format | null; // under way
  problem: ProblemDocument | null;
  start: (format: Format) => void;
  stop: () => void;
}

export function useSaved(run: string, sql: string): Saving {
  const [format, setFormat] = useState<Format | null>(null);
  const [problem, setProblem] = useState<ProblemDocument | null>(null);
  const stop = useRef<AbortController | null>(null);
  const start = (wanted: Format) => {
    const mine = new AbortController();
    stop.current = mine;
    setFormat(wanted);
    setProblem(null);
    client
      .fetch("/api/v1/query", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ args: [run, sql], format: wanted, max_rows: MOST_ROWS }),
        signal: mine.signal,
      })
      .then((response) => response.blob())
      .then((file) => save(file, `query.${wanted}`))
      .catch((error) => {
        if (!mine.signal.aborted) setProblem(problemFrom(error));
      })
      .finally(() => setFormat(null));
  };
  return { format, problem, start, stop: () => stop.current?.abort() };
}

export function SaveButtons({ saving }: { saving: Saving }) {
  if (saving.format)
    return (
      <>
        <span role="status">Making the {LABELS[saving.format]} file…</span>
        <button type="button" onClick={saving.stop}>
          Cancel
        </button>
      </>
    );
  return (
    <>
      {(["csv", "parquet"] as const).map((format) => (
        <button key={format} type="button" onClick={() => saving.start(format)}>
          Save as {LABELS[format]}
        </button>
      ))}
    </>
  );
}
