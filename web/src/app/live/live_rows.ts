// SPDX-License-Identifier: Apache-2.0
// The list of recordings under way, kept current by the events of the server.
import type { LiveRow } from "../../data/generated";

/** The list after an event: a recording that grew, that is new, or that is over. */
export function mergedRows(rows: LiveRow[], event: LiveRow): LiveRow[] {
  if (event.state === "ended") return rows.filter((r) => r.live_id !== event.live_id);
  const known = rows.some((r) => r.live_id === event.live_id);
  return known ? rows.map((r) => (r.live_id === event.live_id ? event : r)) : [...rows, event];
}

/** The command as people call it: the program without its folder. */
export const programOf = (row: LiveRow): string =>
  [row.command[0]?.split("/").pop() ?? row.live_id, ...row.command.slice(1)].join(" ");

/** The one that the address names, else the newest. */
export const chosenRow = (rows: LiveRow[], wanted: string | null): LiveRow | undefined =>
  wanted ? rows.find((r) => r.live_id === wanted) : rows.at(-1);
