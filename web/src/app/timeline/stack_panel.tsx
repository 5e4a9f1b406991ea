// SPDX-License-Identifier: Apache-2.0
// The chosen CPU sample: the box of its stack that was clicked, and the stack frame by frame.
import { useEffect, useRef } from "preact/hooks";
import type { TimelineEventReply, TimelineEventStack, TimelineStackFrame } from "../../data/generated";
import { count, cut, ms, plural } from "../../widgets/format";
import { changeFields } from "../navigation";
import type { ChosenEvent } from "./events";
import { eventField } from "./events";

const time = (ns: number): string => ms(ns / 1e6);

export const placeText = ({ place, line }: TimelineStackFrame): string =>
  place === null ? "" : `${cut(place, 200)}${line === null ? "" : `:${line}`}`;

interface FramesProps {
  chosen: ChosenEvent;
  stack: TimelineEventStack;
}

function Frames({ chosen, stack }: FramesProps) {
  const marked = useRef<HTMLTableRowElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the marked row is another one then
  useEffect(() => {
    const row = marked.current;
    const box = row?.closest<HTMLElement>(".frames");
    if (row && box) box.scrollTop = row.offsetTop - box.clientHeight / 2;
  }, [chosen.id, chosen.depth]);
  return (
    <section
      class="frames"
      aria-label="Stack, outermost frame first"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must take the keyboard
      tabIndex={0}
    >
      <table aria-label="Stack, outermost frame first">
        <thead>
          <tr>
            <th scope="col" class="num">
              Depth
            </th>
            <th scope="col">Function</th>
            <th scope="col">Place</th>
          </tr>
        </thead>
        <tbody>
          {stack.frames.map((frame, depth) => (
            <tr
              key={depth}
              ref={depth === chosen.depth ? marked : undefined}
              class={depth === chosen.depth ? "marked" : ""}
            >
              <td class="num">{depth}</td>
              <th scope="row">
                <button
                  type="button"
                  class="link"
                  aria-current={depth === chosen.depth}
                  onClick={() => changeFields({ event: eventField({ ...chosen, depth }) })}
                >
                  {cut(frame.name, 200)}
                </button>
              </th>
              <td>{placeText(frame)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

interface Props extends FramesProps {
  reply: TimelineEventReply;
  sql: string; // address
}

export function SampledStack({ chosen, reply, stack, sql }: Props) {
  const [event] = reply.chain;
  const { box } = stack;
  const weight_ns = reply.columns.weight_ns;
  const frame = box ? stack.frames[box.depth] : stack.frames.at(-1);
  return (
    <>
      <h3>{frame ? cut(frame.name, 300) : "CPU sample without a stack"}</h3>
      <p class="facts">
        {frame?.place && <span>{placeText(frame)}</span>}
        {box ? (
          <>
            <span>
              <b>{time(box.dur_ns)}</b> in {plural(box.samples, "sample")}
            </span>
            <span>{box.self_samples === box.samples ? "all" : count(box.self_samples)} in the function itself</span>
            <span>starts at {time(box.start_ns)}</span>
          </>
        ) : (
          <>
            <span>CPU sample{typeof weight_ns === "number" ? ` of ${time(weight_ns)}` : ""}</span>
            <span>at {time(event.start_ns)}</span>
          </>
        )}
        <a href={sql}>SQL</a>
      </p>
      <p class="note">
        {plural(stack.frames.length, "frame")}, with the lines of the {box ? "first " : ""}sample
        {box ? " of the box" : ""}.
      </p>
      <Frames chosen={chosen} stack={stack} />
    </>
  );
}
