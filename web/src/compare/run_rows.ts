// SPDX-License-Identifier: Apache-2.0
import type { CompareFacts, CompareRun } from "../data/replies";

export interface RunRow extends CompareRun {
  side: "A" | "B";
  wall_ms: number | null;
}

type Facts = Pick<CompareFacts, "runs" | "wall_a_ms" | "wall_b_ms" | "walls_a_ms" | "walls_b_ms">;

// The walls are listed per run only when a side has several; a single run has the wall of its side.
export function runRows(c: Facts): RunRow[] {
  const rowsOf = (side: "A" | "B", runs: CompareRun[], walls: number[] | undefined, wall: number | null) =>
    runs.map((run, i) => ({ ...run, side, wall_ms: walls?.[i] ?? (runs.length === 1 ? wall : null) }));
  return [...rowsOf("A", c.runs.a, c.walls_a_ms, c.wall_a_ms), ...rowsOf("B", c.runs.b, c.walls_b_ms, c.wall_b_ms)];
}

// What to call a side: its run of which the comparison tells, and how many more there are.
export function sideName(c: Pick<CompareFacts, "runs" | "run_a" | "run_b">, side: "a" | "b"): string {
  const runs = c.runs[side];
  const id = side === "a" ? c.run_a : c.run_b;
  const run = runs.find((r) => r.run_id === id) ?? runs[0];
  const name = run?.name || run?.run_id || id;
  return runs.length > 1 ? `${name} and ${runs.length - 1} more` : name;
}
