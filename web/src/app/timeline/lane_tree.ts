// SPDX-License-Identifier: Apache-2.0
// Which lanes are shown, in which order, and where: pinned ones first, without what is below a closed one.
import type { TimelineLane } from "../../data/generated";
import { orderLanes } from "./lane_order";

export interface LaneChoice {
  closed: ReadonlySet<number>;
  opened?: ReadonlySet<number>; // of the lanes that are closed at first
  pinned: ReadonlySet<number>; // in the order in which they are shown
  order?: string; // as in lane_order.ts
  filter: RegExp | null; // of the name of a lane or of one it is below
}

export interface PlacedLane {
  lane: TimelineLane;
  level: number; // of nesting
  top: number; // px
  height: number;
  isPinned: boolean;
  hasChildren: boolean;
  isClosed: boolean;
}

export const DEPTH_PX = 18;
export const HEADING_PX = 24;
const LINE_PX = 44;
const GAP_PX = 6;

// Counters and memory are drawn as lines, the others have spans.
export const isLine = (lane: TimelineLane): boolean => lane.kind === "counter" || lane.kind === "memory";

// The stacks of CPU samples take many rows: what they are below is closed at first.
export const isClosedAtFirst = (lane: TimelineLane): boolean => lane.kind === "samples";

const isClosed = (lane: TimelineLane, { closed, opened }: LaneChoice): boolean =>
  isClosedAtFirst(lane) ? !opened?.has(lane.id) : closed.has(lane.id);

export function laneHeight(lane: TimelineLane): number {
  if (isLine(lane)) return LINE_PX + GAP_PX;
  if (lane.depths === 0) return HEADING_PX;
  return lane.depths * DEPTH_PX + GAP_PX;
}

// A pattern that is not valid is taken as plain text.
export function laneFilter(text: string): RegExp | null {
  if (!text) return null;
  try {
    return new RegExp(text, "i");
  } catch {
    return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i");
  }
}

interface Place {
  lane: TimelineLane;
  level: number;
  path: string;
  isHidden: boolean; // below a closed one
}

function placesOf(lanes: TimelineLane[], choice: LaneChoice): Place[] {
  const byId = new Map<number, Place>();
  return lanes.map((lane) => {
    const above = lane.parent === null ? undefined : byId.get(lane.parent);
    const place: Place = {
      lane,
      level: above ? above.level + 1 : 0,
      path: above ? `${above.path} ${lane.name}` : lane.name,
      isHidden: above !== undefined && (above.isHidden || isClosed(above.lane, choice)),
    };
    byId.set(lane.id, place);
    return place;
  });
}

export function placeLanes(lanes: TimelineLane[], choice: LaneChoice): PlacedLane[] {
  const { pinned, filter } = choice;
  const places = placesOf(orderLanes(lanes, choice.order ?? ""), choice);
  const parents = new Set(lanes.map((l) => l.parent));
  const matches = new Set(places.filter((p) => !filter || filter.test(p.path)).map((p) => p.lane.id));
  // What is above a match is shown, so that its place is known.
  for (const p of [...places].reverse())
    if (matches.has(p.lane.id) && p.lane.parent !== null) matches.add(p.lane.parent);
  let top = 0;
  const put = (p: Place, isPinned: boolean): PlacedLane => {
    const height = laneHeight(p.lane);
    top += height;
    const level = isPinned ? 0 : p.level;
    return {
      lane: p.lane,
      level,
      top: top - height,
      height,
      isPinned,
      hasChildren: parents.has(p.lane.id),
      isClosed: isClosed(p.lane, choice),
    };
  };
  const first = [...pinned].flatMap((id) => places.filter((p) => p.lane.id === id)).map((p) => put(p, true));
  const rest = places.filter((p) => !p.isHidden && matches.has(p.lane.id) && !pinned.has(p.lane.id));
  return [...first, ...rest.map((p) => put(p, false))];
}

/** Where a lane that is dragged to `y` would go: beside one that it may change places with. */
export interface Drop {
  beside: PlacedLane;
  place: "before" | "after";
  y: number; // of the line that shows it
}

const mayChange = (a: PlacedLane, b: PlacedLane): boolean =>
  a.isPinned ? b.isPinned : !b.isPinned && a.lane.parent === b.lane.parent;

// The lanes that `moved` may change places with, in order, itself included.
export const peersOf = (placed: PlacedLane[], moved: PlacedLane): PlacedLane[] =>
  placed.filter((p) => mayChange(moved, p));

// A lane reaches down to the next one that is not below it.
function bottomOf(placed: PlacedLane[], of: PlacedLane): number {
  const next = placed.find((p) => p.top > of.top && (p.level <= of.level || p.isPinned !== of.isPinned || of.isPinned));
  return next ? next.top : totalHeight(placed);
}

export function dropAt(placed: PlacedLane[], moved: PlacedLane, y: number): Drop | null {
  const peers = peersOf(placed, moved);
  const at = peers.find((p) => y < bottomOf(placed, p)) ?? peers.at(-1);
  if (!at || at.lane.id === moved.lane.id) return null;
  const bottom = bottomOf(placed, at);
  const isBefore = y < (at.top + bottom) / 2;
  return { beside: at, place: isBefore ? "before" : "after", y: isBefore ? at.top : bottom };
}

export const totalHeight = (placed: PlacedLane[]): number => {
  const last = placed.at(-1);
  return last ? last.top + last.height : 0;
};
