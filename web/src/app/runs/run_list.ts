// SPDX-License-Identifier: Apache-2.0
// The list of runs: which match the filters, what they may be filtered by, and the history of their workloads.
import type { ListedRun } from "../../data/generated";

export interface RunFilters {
  text: string;
  tag: string; // "key=value", or "key=" for any value
  model: string;
  device: string;
  format: string; // adapter
  days: number; // 0: any time
}

const DAY_NS = 86_400e9;

const hasTag = (run: ListedRun, tag: string): boolean => {
  const equals = tag.indexOf("=");
  const key = equals < 0 ? tag : tag.slice(0, equals);
  const value = equals < 0 ? "" : tag.slice(equals + 1);
  return key in run.tags && (value === "" || run.tags[key] === value);
};

const textOf = (run: ListedRun): string =>
  [run.run_id, run.model, run.device, run.source_name, run.backend, run.tool, run.adapter, run.precision]
    .concat(Object.entries(run.tags).map(([key, value]) => `${key}=${value}`))
    .join("\n")
    .toLowerCase();

// Every word of the text must be somewhere in the run.
export function matchingRuns(runs: ListedRun[], f: RunFilters, now_ns: number): ListedRun[] {
  const words = f.text.toLowerCase().split(/\s+/).filter(Boolean);
  return runs.filter((run) => {
    if (f.model && run.model !== f.model) return false;
    if (f.device && run.device !== f.device) return false;
    if (f.format && run.adapter !== f.format) return false;
    if (f.tag && !hasTag(run, f.tag)) return false;
    if (f.days > 0 && run.created_at_ns < now_ns - f.days * DAY_NS) return false;
    if (words.length === 0) return true;
    const text = textOf(run);
    return words.every((word) => text.includes(word));
  });
}

export interface Choices {
  models: string[];
  devices: string[];
  formats: string[];
  tags: string[];
}

const sorted = (values: Iterable<string>): string[] => [...new Set(values)].filter(Boolean).sort();

export function choicesOf(runs: ListedRun[]): Choices {
  return {
    models: sorted(runs.map((r) => r.model)),
    devices: sorted(runs.map((r) => r.device)),
    formats: sorted(runs.map((r) => r.adapter)),
    tags: sorted(runs.flatMap((r) => Object.entries(r.tags).map(([key, value]) => `${key}=${value}`))),
  };
}

// Runs that may be compared without a second thought: the same model on the same devices.
export const workloadOf = (r: ListedRun): string =>
  r.model && JSON.stringify([r.model, r.device, r.device_count, r.precision, r.backend]);

const HISTORY = 30;

// Wall times of each workload with at least two runs, oldest first, the newest ones only.
export function workloadHistories(runs: ListedRun[]): Map<string, number[]> {
  const all = new Map<string, number[]>();
  for (const run of [...runs].sort((a, b) => a.created_at_ns - b.created_at_ns)) {
    const key = workloadOf(run);
    if (!key) continue;
    const list = all.get(key);
    if (list) list.push(run.wall_ns);
    else all.set(key, [run.wall_ns]);
  }
  for (const [key, list] of all) {
    if (list.length < 2) all.delete(key);
    else all.set(key, list.slice(-HISTORY));
  }
  return all;
}

// The list with a run that was added or changed in it.
export function withRun(runs: ListedRun[], run: ListedRun): ListedRun[] {
  const at = runs.findIndex((r) => r.run_id === run.run_id);
  if (at < 0) return [run, ...runs];
  return runs.map((r, i) => (i === at ? run : r));
}
