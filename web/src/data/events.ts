// SPDX-License-Identifier: Apache-2.0
// Server-Sent Events with reconnection: the browser retries a broken connection, this one also a refused one.
import type { KeptResult, ListedRun, LiveRow, QueueEntriesReply } from "./generated";

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
  /** An entry of the queue or its output, or what the runner does, has changed; with the newest entry only. */
  onQueue(queue: QueueEntriesReply): void;
  onBenchResult(result: KeptResult): void;
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
    const opened = new EventSource(url);
    source = opened;
    const on = <Data>(type: string, listener: (data: Data) => void) =>
      opened.addEventListener(type, (event) => {
        const data = parsed<Data>(event);
        if (data) listener(data);
      });
    opened.onopen = () => {
      wait_ms = FIRST_WAIT_MS;
      listeners.onConnection(wasOpen && isBroken ? "reconnected" : "open");
      wasOpen = true;
      isBroken = false;
    };
    opened.onerror = () => {
      opened.close();
      timer = window.setTimeout(connect, wait_ms);
      wait_ms = Math.min(LONGEST_WAIT_MS, wait_ms * 2);
      const wasBroken = isBroken;
      isBroken = true;
      // A server that answers but refuses the events wants a login: that is not a lost connection.
      if (!wasBroken) isReachable().then((answers) => !answers && !isClosed && listeners.onConnection("lost"));
    };
    on<ListedRun>("run", listeners.onRun);
    on<ImportProgress>("import", listeners.onImport);
    on<OperationProgress>("progress", listeners.onProgress);
    on<LiveRow>("live", listeners.onLive);
    on<QueueEntriesReply>("queue", listeners.onQueue);
    on<KeptResult>("bench_result", listeners.onBenchResult);
  };
  connect();
  return () => {
    isClosed = true;
    clearTimeout(timer);
    source?.close();
  };
}
