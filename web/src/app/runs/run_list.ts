// SPDX-License-Identifier: Apache-2.0
// The list of runs as the server gives it: what it is asked for, the pages that are there, and the histories of workloads.
import type { ListedRun, LsReply, WorkloadHistory } from "../../data/generated";
import { cut } from "../../widgets/format";
import type { SortOrder } from "../../widgets/sort_rows";

export interface RunFilters {
  text: string;
  tag: string; // "key=value", or "key=" for any value
  model: string;
  device: string;
  backend: string; // framework
  format: string; // adapter
  days: number; // 0: any time
}

// Columns of the list by the name that the server sorts by.
const SORTS: Record<string, string> = {
  model: "model",
  wall: "wall",
  device: "device",
  precision: "precision",
  created: "created",
  kernels: "kernels",
  format: "format",
  size: "stored",
  id: "id",
};

export const PAGE_RUNS = 100;
const HISTORY = 30;

// What `/api/v1/runs` is asked for, without the page: two lists with the same fields are the same list.
export function listFields(f: RunFilters, order: SortOrder): Record<string, string> {
  const fields: Record<string, string> = { sort: SORTS[order.key] ?? SORTS.created, history: String(HISTORY) };
  if (!order.descending) fields.reverse = "true";
  if (f.text.trim()) fields.text = f.text.trim();
  if (f.tag) fields.tag = f.tag;
  if (f.model) fields.model = f.model;
  if (f.device) fields.device = f.device;
  if (f.model || f.device) fields.exact = "true";
  if (f.backend) fields.backend = f.backend;
  if (f.format) fields.format = f.format;
  if (f.days > 0) fields.since = `${f.days}d`;
  return fields;
}

// The pages that hold the rows from `first` to before `last`.
export function pagesOf(first: number, last: number): number[] {
  const pages: number[] = [];
  for (let page = Math.floor(first / PAGE_RUNS); page * PAGE_RUNS < last; ++page) pages.push(page);
  return pages;
}

/** A list of which some pages are there. */
export class RunPages {
  readonly list: string; // what was asked for
  readonly round: number; // how many times it was asked for anew
  readonly length: number; // runs that match
  readonly total: number; // runs of the store
  private readonly pages: ReadonlyMap<number, ListedRun[]>;
  private readonly stale: ReadonlyMap<number, ListedRun[]>; // of the round before, until the page is there again

  private constructor(
    list: string,
    round: number,
    reply: Pick<LsReply, "runs_total" | "total">,
    pages: ReadonlyMap<number, ListedRun[]>,
    stale: ReadonlyMap<number, ListedRun[]>,
  ) {
    this.list = list;
    this.round = round;
    this.length = reply.runs_total;
    this.total = reply.total;
    this.pages = pages;
    this.stale = stale;
  }

  // With a page that came. Pages of another list are dropped.
  static with(before: RunPages | null, list: string, round: number, page: number, reply: LsReply): RunPages {
    const isSame = before?.list === list;
    const isSameRound = isSame && before.round === round;
    const pages = new Map(isSameRound ? before.pages : []);
    pages.set(page, reply.runs);
    const stale = isSameRound ? before.stale : isSame ? before.pages : new Map<number, ListedRun[]>();
    return new RunPages(list, round, reply, pages, stale);
  }

  at(row: number): ListedRun | undefined {
    if (row >= this.length) return undefined;
    const page = Math.floor(row / PAGE_RUNS);
    return (this.pages.get(page) ?? this.stale.get(page))?.[row % PAGE_RUNS];
  }

  isCurrent(list: string, round: number): boolean {
    return this.list === list && this.round === round;
  }

  hasPage(page: number): boolean {
    return this.pages.has(page);
  }

  *runs(): Iterable<ListedRun> {
    for (const page of this.pages.values()) yield* page;
  }
}

/** "NVIDIA H200", "8 × GPU" where the source does not name them, "CPU" where there is none. */
export function deviceText(run: { device: string; device_count: number; kernel_count?: number }): string {
  const isGpu = run.device_count > 0 || (run.kernel_count ?? 0) > 0;
  const name = cut(run.device || (isGpu ? "GPU" : "CPU"), 40);
  return run.device_count > 1 ? `${run.device_count} × ${name}` : name;
}

/** The file a run was made from, unless its name says no more than that of the run. */
export function sourceText(run: { model: string; source_name: string }): string {
  return run.model && !run.source_name.startsWith(`${run.model}.`) ? cut(run.source_name, 60) : "";
}

// Runs that may be compared without a second thought: the same model on the same devices.
export const workloadOf = (
  r: Pick<WorkloadHistory, "model" | "device" | "device_count" | "precision" | "backend">,
): string => r.model && JSON.stringify([r.model, r.device, r.device_count, r.precision, r.backend]);
