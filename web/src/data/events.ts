// SPDX-License-Identifier: Apache-2.0
// Server-Sent Events with reconnection: the browser retries a broken connection, this one also a refused one.
import type { ListedRun, LiveRow } from "./generated";

export interface ImportProgress {
  name: string;
  done_bytes: number;
  total_bytes: number | null;
}

/** Of an operation that has to prepare something first, such as the overview of a timeline. */
export interface OperationProgress {
  op: string;
  run: string | null;
  what: string;
  done_bytes: number;
  total_bytes: number | null;
}

export interface EventListeners {
  onRun(run: ListedRun): void;
  onImport(progress: ImportProgress): void;
  onProgress(progress: OperationProgress): void;
  onLive(recording: LiveRow): void;
  onConnection(state: "open" | "lost" | "reconnected"): void;
}

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 10_000;

function parsed<Data>(event: Event): Data | null {
  try {
    return JSON.parse((event as MessageEvent<string>).data) as Data;
  } catch {
    return null;
  }
}

const isReachable = (): Promise<boolean> =>
  fetch("/healthz").then(
    (response) => response.ok,
    () => false,
  );

/** Listens until the returned function is called. */
export function listen(listeners: EventListeners, url = "/api/v1/events"): () => void {
  let source: EventSource | null = null;
  let timer = 0;
  let wait_ms = FIRST_WAIT_MS;
  let wasOpen = false;
  let isBroken = false;
  let isClosed = false;

  const connect = () => {
    source = new EventSource(url);
    source.onopen = () => {
      wait_ms = FIRST_WAIT_MS;
      listeners.onConnection(wasOpen && isBroken ? "reconnected" : "open");
      wasOpen = true;
      isBroken = false;
    };
    source.onerror = () => {
      source?.close();
      timer = window.setTimeout(connect, wait_ms);
      wait_ms = Math.min(LONGEST_WAIT_MS, wait_ms * 2);
      const wasBroken = isBroken;
      isBroken = true;
      // A server that answers but refuses the events wants a login: that is not a lost connection.
      if (!wasBroken) isReachable().then((answers) => !answers && !isClosed && listeners.onConnection("lost"));
    };
    source.addEventListener("run", (event) => {
      const run = parsed<ListedRun>(event);
      if (run) listeners.onRun(run);
    });
    source.addEventListener("import", (event) => {
      const progress = parsed<ImportProgress>(event);
      if (progress) listeners.onImport(progress);
    });
    source.addEventListener("progress", (event) => {
      const progress = parsed<OperationProgress>(event);
      if (progress) listeners.onProgress(progress);
    });
    source.addEventListener("live", (event) => {
      const recording = parsed<LiveRow>(event);
      if (recording) listeners.onLive(recording);
    });
  };
  connect();
  return () => {
    isClosed = true;
    clearTimeout(timer);
    source?.close();
  };
}
