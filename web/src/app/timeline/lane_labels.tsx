// SPDX-License-Identifier: Apache-2.0
// The names of the lanes in sight, with what opens, closes, pins and moves them. A lane is moved by dragging its grip,
// or with the arrow keys while the grip has the focus.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { TimelineLane } from "../../data/generated";
import { count, cut } from "../../widgets/format";
import type { Place } from "./lane_order";
import type { Drop, PlacedLane } from "./lane_tree";
import { dropAt, peersOf } from "./lane_tree";

interface Props {
  placed: PlacedLane[];
  scroll: number;
  height: number;
  onClose: (lane: TimelineLane) => void;
  onPin: (lane: number) => void;
  onMove: (lane: PlacedLane, beside: PlacedLane, place: Place) => void;
}

const AROUND_PX = 200;
const ROOM_PX = 60; // around a lane that was moved

interface GripProps {
  lane: PlacedLane;
  placed: PlacedLane[];
  onDrag: (drop: Drop | null) => void;
  onMove: Props["onMove"];
}

function Grip({ lane, placed, onDrag, onMove }: GripProps) {
  const dropAtPointer = (e: JSX.TargetedPointerEvent<HTMLElement>): Drop | null => {
    const box = e.currentTarget.closest(".tl-labels")?.getBoundingClientRect();
    return box ? dropAt(placed, lane, e.clientY - box.top) : null;
  };
  const step = (by: number) => {
    const peers = peersOf(placed, lane);
    const beside = peers[peers.findIndex((p) => p.lane.id === lane.lane.id) + by];
    if (beside) onMove(lane, beside, by < 0 ? "before" : "after");
  };
  const end = (e: JSX.TargetedPointerEvent<HTMLElement>, isDropped: boolean) => {
    if (!e.currentTarget.hasPointerCapture(e.pointerId)) return;
    e.currentTarget.releasePointerCapture(e.pointerId);
    const drop = isDropped ? dropAtPointer(e) : null;
    onDrag(null);
    if (drop) onMove(lane, drop.beside, drop.place);
  };
  return (
    <button
      type="button"
      class="grip"
      data-grip={lane.lane.id}
      aria-label={`Move ${cut(lane.lane.name, 60)}: drag, or arrow keys`}
      onPointerDown={(e) => {
        if (e.button !== 0) return;
        e.preventDefault();
        e.currentTarget.focus();
        e.currentTarget.setPointerCapture(e.pointerId);
      }}
      onPointerMove={(e) => {
        if (e.currentTarget.hasPointerCapture(e.pointerId)) onDrag(dropAtPointer(e));
      }}
      onPointerUp={(e) => end(e, true)}
      onPointerCancel={(e) => end(e, false)}
      onKeyDown={(e) => {
        const by = e.key === "ArrowUp" ? -1 : e.key === "ArrowDown" ? 1 : 0;
        if (by === 0) return;
        e.preventDefault();
        step(by);
      }}
    >
      <span aria-hidden="true">⠿</span>
    </button>
  );
}

// The scale of memory has its unit already.
const shortName = (lane: TimelineLane): string =>
  lane.kind === "memory" ? lane.name.replace(" (bytes)", "") : lane.name;

export function LaneLabels({ placed, scroll, height, onClose, onPin, onMove }: Props) {
  const [drop, setDrop] = useState<Drop | null>(null);
  const box = useRef<HTMLDivElement>(null);
  // A lane that was moved is scrolled into sight, and its grip keeps the focus.
  const moved = useRef<number | null>(null);
  useEffect(() => {
    const lane = placed.find((p) => p.lane.id === moved.current);
    const scroller = box.current?.closest(".tl-scroll");
    if (!lane || !scroller) return;
    if (lane.top < scroller.scrollTop || lane.top > scroller.scrollTop + scroller.clientHeight - ROOM_PX)
      scroller.scrollTop = lane.top - ROOM_PX;
    const grip = box.current?.querySelector<HTMLElement>(`[data-grip="${lane.lane.id}"]`);
    if (!grip) return; // drawn after the scroll
    grip.focus({ preventScroll: true });
    moved.current = null;
  });
  const move: Props["onMove"] = (lane, beside, place) => {
    moved.current = lane.lane.id;
    onMove(lane, beside, place);
  };
  const inSight = placed.filter((p) => p.top + p.height > scroll - AROUND_PX && p.top < scroll + height + AROUND_PX);
  return (
    <div class="tl-labels" ref={box}>
      {inSight.map((p) => {
        const { lane, level, top, height: tall, isPinned, hasChildren, isClosed } = p;
        return (
          <div
            key={lane.id}
            class={`tl-lane ${tall > 40 ? "tall" : ""}`}
            style={{ top: `${top}px`, height: `${tall}px`, paddingLeft: `${4 + level * 12}px` }}
            title={`${cut(lane.name, 200)}, ${count(lane.count)} events`}
          >
            {hasChildren && (
              <button
                type="button"
                aria-expanded={!isClosed}
                aria-label={`${isClosed ? "Open" : "Close"} ${cut(lane.name, 60)}`}
                onClick={() => onClose(lane)}
              >
                {isClosed ? "▸" : "▾"}
              </button>
            )}
            <span>{cut(shortName(lane), 80)}</span>
            <Grip lane={p} placed={placed} onDrag={setDrop} onMove={move} />
            {lane.kind !== "process" && lane.kind !== "device" && (
              <button
                type="button"
                class="pin"
                aria-pressed={isPinned}
                aria-label={`Pin ${cut(lane.name, 60)}`}
                onClick={() => onPin(lane.id)}
              >
                {isPinned ? "★" : "☆"}
              </button>
            )}
          </div>
        );
      })}
      {drop && <div class="tl-drop" style={{ top: `${drop.y - 1}px` }} />}
    </div>
  );
}
