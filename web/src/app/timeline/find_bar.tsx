// SPDX-License-Identifier: Apache-2.0
// Search of all names of the timeline: how many events match, the next and the previous one, and the list of them.
import { useState } from "preact/hooks";
import { count, plural } from "../../widgets/format";
import { useField } from "../navigation";
import { notices, problemFrom, useLoad } from "../session";
import type { EventPlace } from "./events";
import { findEvents } from "./events";

interface Props {
  run: string;
  from_ns: number; // start of the window: the first step goes to the first match after it
  onGo: (event: EventPlace) => void;
}

function Steps({ run, from_ns, onGo, find }: Props & { find: string }) {
  const [now] = useLoad(`find ${run} ${find}`, (signal) => findEvents(run, find, from_ns, signal));
  const [at, setAt] = useState<EventPlace | null>(null);
  const [matches, setMatches] = useField("matches");
  const total = now.state === "loaded" ? now.reply.total : 0;
  const step = async (by: 1 | -1) => {
    // From the last match on; around the end, the search begins again at the other one.
    const start = at ? at.start_ns + (by > 0 ? 1 : 0) : from_ns;
    const near = await findEvents(run, find, start);
    let [found] = by > 0 ? near.next : near.previous;
    if (!found) {
      const far = await findEvents(run, find, by > 0 ? Number.MIN_SAFE_INTEGER : Number.MAX_SAFE_INTEGER);
      [found] = by > 0 ? far.next : far.previous;
    }
    if (!found) return;
    setAt(found);
    onGo(found);
  };
  const go = (by: 1 | -1) => () => {
    step(by).catch((error) => notices.send({ kind: "bad", text: problemFrom(error).detail.slice(0, 200) }));
  };
  return (
    <>
      <button type="button" disabled={total === 0} aria-label="Previous match" onClick={go(-1)}>
        ‹
      </button>
      <button type="button" disabled={total === 0} aria-label="Next match" onClick={go(1)}>
        ›
      </button>
      <button
        type="button"
        disabled={total === 0}
        aria-expanded={matches === "list"}
        onClick={() => setMatches(matches === "list" ? "" : "list")}
      >
        List
      </button>
      <span role="status">
        {now.state === "loading" && "searching…"}
        {now.state === "failed" && now.problem.detail.slice(0, 120)}
        {now.state === "loaded" &&
          `${count(total)} ${total === 1 ? "match" : "matches"} in ${plural(now.reply.names_total, "name")}`}
      </span>
    </>
  );
}

export function FindBar(props: Props) {
  const [find, setFind] = useField("find", "", true);
  const [typed, setTyped] = useState(find);
  return (
    <form
      class="bar"
      style={{ padding: 0 }}
      onSubmit={(e) => {
        e.preventDefault();
        setFind(typed.trim());
      }}
    >
      <input
        type="search"
        data-search
        placeholder="Find a name ( / )"
        aria-label="Find events by name"
        value={typed}
        onInput={(e) => {
          setTyped(e.currentTarget.value);
          if (!e.currentTarget.value) setFind("");
        }}
      />
      {find && <Steps key={find} {...props} find={find} />}
    </form>
  );
}
