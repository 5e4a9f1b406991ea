// SPDX-License-Identifier: Apache-2.0
// What stands in place of data: while it loads, when it failed, and when there is none.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Name, Params, ProblemDocument, ReplyTo } from "../data/client";
import { CodeText } from "../widgets/code_text";
import { capitalised, cut } from "../widgets/format";
import type { Loading, Reload } from "./session";
import { useCall } from "./session";

const SHOW_AFTER_MS = 150; // a reply that is quick needs no message

export function LoadingNote({ what }: { what: string }) {
  const [shown, setShown] = useState(false);
  const [long, setLong] = useState(false);
  useEffect(() => {
    const timers = [setTimeout(() => setShown(true), SHOW_AFTER_MS), setTimeout(() => setLong(true), 5000)];
    return () => timers.forEach(clearTimeout);
  }, []);
  return (
    <p class="state" role="status" aria-busy="true">
      {shown && (
        <>
          <span class="spinner" aria-hidden="true" /> Loading {what}
          {long && ". The first analysis of a large run takes a while; later ones use its result"}
        </>
      )}
    </p>
  );
}

export function ProblemNote({ problem: p, onRetry }: { problem: ProblemDocument; onRetry?: () => void }) {
  return (
    <div class="state problem" role="alert">
      <h3>
        {p.title || "Error"}
        {p.status > 0 && <span class="muted"> {p.status}</span>}
      </h3>
      <p>
        <CodeText text={cut(p.detail, 1000)} />
      </p>
      {p.hint && (
        <p class="muted">
          <CodeText text={cut(p.hint, 500)} />
        </p>
      )}
      <div class="bar">
        {onRetry && (
          <button type="button" onClick={onRetry}>
            Try again
          </button>
        )}
        {p.status === 404 && <a href="/">All runs</a>}
      </div>
    </div>
  );
}

export function EmptyNote({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="state empty">
      <h3>{title}</h3>
      {children}
    </div>
  );
}

// The run has no data for this question.
export const isUnsupported = (problem: ProblemDocument): boolean => problem.code === "unsupported";

interface LoadedProps<Reply> {
  what: string;
  from: [Loading<Reply>, Reload];
  children: (reply: Reply) => ComponentChildren;
}

export function Loaded<Reply>({ what, from: [now, again], children }: LoadedProps<Reply>) {
  if (now.state === "loading") return <LoadingNote what={what} />;
  // A part that the run does not have is not an error, and a retry would not help.
  if (now.state === "failed" && isUnsupported(now.problem))
    return (
      <EmptyNote title={capitalised(cut(now.problem.detail, 400))}>
        {now.problem.hint && (
          <p>
            <CodeText text={cut(now.problem.hint, 500)} />
          </p>
        )}
      </EmptyNote>
    );
  if (now.state === "failed") return <ProblemNote problem={now.problem} onRetry={() => again()} />;
  return <>{children(now.reply)}</>;
}

interface CalledProps<N extends Name> {
  name: N;
  params: Params<N>;
  what: string;
  children: (reply: ReplyTo<N>) => ComponentChildren;
}

// The reply of an operation, in what `children` makes of it.
export function Called<N extends Name>({ name, params, what, children }: CalledProps<N>) {
  return (
    <Loaded what={what} from={useCall(name, params)}>
      {children}
    </Loaded>
  );
}
