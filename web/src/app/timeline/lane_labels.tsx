// SPDX-License-Identifier: Apache-2.0
// The names of the lanes in sight, with what opens, closes and pins them.
import { count, cut } from "../../widgets/format";
import type { PlacedLane } from "./lane_tree";

interface Props {
  placed: PlacedLane[];
  closed: ReadonlySet<number>;
  scroll: number;
  height: number;
  onClose: (lane: number) => void;
  onPin: (lane: number) => void;
}

const AROUND_PX = 200;

export function LaneLabels({ placed, closed, scroll, height, onClose, onPin }: Props) {
  const inSight = placed.filter((p) => p.top + p.height > scroll - AROUND_PX && p.top < scroll + height + AROUND_PX);
  return (
    <div class="tl-labels">
      {inSight.map(({ lane, level, top, height: tall, isPinned, hasChildren }) => (
        <div
          key={lane.id}
          class={`tl-lane ${tall > 40 ? "tall" : ""}`}
          style={{ top: `${top}px`, height: `${tall}px`, paddingLeft: `${4 + level * 12}px` }}
          title={`${cut(lane.name, 200)}, ${count(lane.count)} events`}
        >
          {hasChildren && (
            <button
              type="button"
              aria-expanded={!closed.has(lane.id)}
              aria-label={`${closed.has(lane.id) ? "Open" : "Close"} ${cut(lane.name, 60)}`}
              onClick={() => onClose(lane.id)}
            >
              {closed.has(lane.id) ? "▸" : "▾"}
            </button>
          )}
          <span>{cut(lane.name, 80)}</span>
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
      ))}
    </div>
  );
}
