// SPDX-License-Identifier: Apache-2.0
// The order of lanes as a reader arranged them. Lanes below the same one change places; each takes what is below it
// along. The address has a list of ids for each such group that is not in the order of the server: "4.2.3;9.8".
import type { TimelineLane } from "../../data/generated";

export type Place = "before" | "after";

const groupsOf = (text: string): number[][] =>
  text
    .split(";")
    .map((group) => group.split(".").filter(Boolean).map(Number))
    .filter((group) => group.length > 0 && group.every(Number.isInteger));

// Lanes below each lane (null: the first level), in the order of `text`. Ids that it does not name come last.
function childrenOf(lanes: TimelineLane[], text: string): Map<number | null, TimelineLane[]> {
  const rank = new Map<number, number>();
  for (const group of groupsOf(text)) for (const [at, id] of group.entries()) rank.set(id, at);
  const children = new Map<number | null, TimelineLane[]>();
  for (const lane of lanes) {
    const list = children.get(lane.parent);
    if (list) list.push(lane);
    else children.set(lane.parent, [lane]);
  }
  const rankOf = (lane: TimelineLane) => rank.get(lane.id) ?? Number.POSITIVE_INFINITY;
  for (const list of children.values())
    list.sort((a, b) => (rankOf(a) === rankOf(b) ? 0 : rankOf(a) < rankOf(b) ? -1 : 1));
  return children;
}

/** The lanes in this order, each followed by what is below it. */
export function orderLanes(lanes: TimelineLane[], text: string): TimelineLane[] {
  if (!text) return lanes;
  const children = childrenOf(lanes, text);
  const out: TimelineLane[] = [];
  const add = (lane: TimelineLane) => {
    out.push(lane);
    for (const child of children.get(lane.id) ?? []) add(child);
  };
  for (const lane of children.get(null) ?? []) add(lane);
  return out;
}

/** The order after `lane` was put before or after `beside`, which must be below the same lane; else unchanged. */
export function movedOrder(
  lanes: TimelineLane[],
  text: string,
  lane: TimelineLane,
  beside: TimelineLane,
  place: Place,
): string {
  if (lane.id === beside.id || lane.parent !== beside.parent) return text;
  const children = childrenOf(lanes, text);
  const ids = (children.get(lane.parent) ?? []).map((l) => l.id).filter((id) => id !== lane.id);
  ids.splice(ids.indexOf(beside.id) + (place === "after" ? 1 : 0), 0, lane.id);
  children.set(
    lane.parent,
    ids.flatMap((id) => lanes.filter((l) => l.id === id)),
  );
  return orderText(lanes, children);
}

// Groups that are in the order of the server are left out.
function orderText(lanes: TimelineLane[], children: Map<number | null, TimelineLane[]>): string {
  const first = childrenOf(lanes, "");
  const groups: string[] = [];
  for (const [parent, list] of children) {
    const ids = list.map((l) => l.id).join(".");
    if (
      ids !==
      first
        .get(parent)
        ?.map((l) => l.id)
        .join(".")
    )
      groups.push(ids);
  }
  return groups.join(";");
}
