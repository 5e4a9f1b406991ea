// SPDX-License-Identifier: Apache-2.0
// All runs of the store: filtered, sorted, selected for a comparison, and kept current by the events of the server.
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { ListedRun, RunChoice, RunChoices } from "../../data/generated";
import { bytes, count, cut, ms, plural } from "../../widgets/format";
import type { SortOrder } from "../../widgets/sort_rows";
import type { GridColumn } from "../grid";
import { Grid } from "../grid";
import { bindKeys } from "../keys";
import { goTo, useField, useRoute } from "../navigation";
import { compareAddress, runAddress } from "../route";
import { connection, newRuns, useChannel } from "../session";
import { EmptyNote, LoadingNote, ProblemNote } from "../states";
import { ImportPanel } from "./import_panel";
import type { RunPages } from "./run_list";
import { deviceText, listFields, sourceText, workloadOf } from "./run_list";
import { Sparkline } from "./sparkline";
import type { RunList } from "./use_runs";
import { useRunChoices, useRunList, useRunsById } from "./use_runs";

const NEWEST: SortOrder = { key: "created", descending: true };
const FILTERS = ["q", "tag", "model", "device", "backend", "format", "days"] as const;

const timeText = (ns: number): string => new Date(ns / 1e6).toISOString().slice(0, 16).replace("T", " ");
const nameOf = (r: ListedRun): string => r.model || r.source_name || r.run_id;

function parseOrder(text: string): SortOrder {
  const descending = text.startsWith("-");
  return text ? { key: descending ? text.slice(1) : text, descending } : NEWEST;
}
const orderText = (o: SortOrder): string =>
  o.key === NEWEST.key && o.descending ? "" : `${o.descending ? "-" : ""}${o.key}`;

function columnsOf(
  selected: Set<string>,
  toggle: (id: string) => void,
  histories: ReadonlyMap<string, number[]>,
): GridColumn<ListedRun>[] {
  return [
    {
      key: "select",
      label: "",
      fixed: true,
      text: true,
      width: 30,
      value: () => null,
      show: (r) => select(r, selected.has(r.run_id), toggle),
    },
    {
      key: "model",
      label: "Run",
      text: true,
      width: 210,
      value: nameOf,
      title: (r) => cut(`${nameOf(r)} ${r.source_name}`, 300),
      show: nameCell,
    },
    { key: "wall", label: "Wall", width: 84, value: (r) => r.wall_ns, show: (r) => ms(r.wall_ns / 1e6) },
    {
      key: "history",
      label: "History",
      fixed: true,
      text: true,
      width: 100,
      value: () => null,
      show: (r) => {
        const values = histories.get(workloadOf(r));
        return values ? (
          <Sparkline values={values} label={`Wall time of the last ${values.length} runs of this workload`} />
        ) : (
          ""
        );
      },
    },
    {
      key: "device",
      label: "Device",
      text: true,
      width: 150,
      value: (r) => r.device,
      show: deviceText,
    },
    { key: "precision", label: "Type", text: true, width: 56, value: (r) => r.precision, show: (r) => r.precision },
    {
      key: "created",
      label: "Imported (UTC)",
      text: true,
      width: 136,
      value: (r) => r.created_at_ns,
      show: (r) => timeText(r.created_at_ns),
    },
    { key: "kernels", label: "Kernels", width: 76, value: (r) => r.kernel_count, show: (r) => count(r.kernel_count) },
    {
      key: "format",
      label: "Format",
      text: true,
      width: 84,
      value: (r) => r.adapter,
      show: (r) => cut(r.adapter, 24),
    },
    {
      key: "tags",
      label: "Tags",
      text: true,
      fixed: true,
      value: () => null,
      title: (r) =>
        cut(
          Object.entries(r.tags)
            .map(([k, v]) => `${k}=${v}`)
            .join(", "),
          300,
        ),
      show: tagCells,
    },
    { key: "size", label: "Stored", width: 80, value: (r) => r.stored_bytes, show: (r) => bytes(r.stored_bytes) },
    { key: "id", label: "Id", text: true, width: 130, value: (r) => r.run_id, show: (r) => <code>{r.short_id}</code> },
  ];
}

const select = (r: ListedRun, isSelected: boolean, toggle: (id: string) => void) => (
  <input
    type="checkbox"
    class="pick"
    tabIndex={-1}
    aria-label={`Select ${cut(nameOf(r), 60)} ${r.short_id}`}
    checked={isSelected}
    onChange={() => toggle(r.run_id)}
  />
);

const nameCell = (r: ListedRun) => (
  <>
    <a href={runAddress(r.run_id)} tabIndex={-1}>
      {cut(nameOf(r), 60)}
    </a>
    {sourceText(r) && <span class="muted"> {sourceText(r)}</span>}
    {r.lost_records > 0 && (
      <span class="lost" title={`${count(r.lost_records)} records lost`}>
        !
      </span>
    )}
  </>
);

const tagCells = (r: ListedRun) =>
  Object.entries(r.tags).map(([key, value]) => (
    <span class="tag" key={key}>
      {cut(`${key}=${value}`, 40)}
    </span>
  ));

// A run on a phone.
const runCard = (r: ListedRun, isSelected: boolean, toggle: (id: string) => void) => (
  <>
    <div>
      {select(r, isSelected, toggle)}
      <span>{nameCell(r)}</span>
      <b>{ms(r.wall_ns / 1e6)}</b>
    </div>
    <div class="sub">
      <span>{[deviceText(r), r.precision, plural(r.kernel_count, "kernel")].filter(Boolean).join(", ")}</span>
    </div>
    <div class="sub">
      <span>
        {timeText(r.created_at_ns)} UTC, {cut(r.adapter, 24)} {tagCells(r)}
      </span>
    </div>
  </>
);

interface ChoiceProps {
  name: string;
  label: string;
  choices: string[] | [value: string, label: string][];
}

function FilterChoice({ name, label, choices }: ChoiceProps) {
  const [value, setValue] = useField(name);
  if (choices.length === 0 && !value) return null;
  const options = choices.map((c): [string, string] => (typeof c === "string" ? [c, c] : c));
  if (value && !options.some(([v]) => v === value)) options.unshift([value, value]);
  return (
    <label>
      <span>{label}</span>
      <select value={value} onChange={(e) => setValue(e.currentTarget.value)}>
        <option value="">any</option>
        {options.map(([v, text]) => (
          <option key={v} value={v}>
            {cut(text, 60)}
          </option>
        ))}
      </select>
    </label>
  );
}

const TIMES: [string, string][] = [
  ["1", "last day"],
  ["7", "last 7 days"],
  ["30", "last 30 days"],
  ["365", "last year"],
];

const NO_CHOICES: RunChoices = { models: [], devices: [], backends: [], formats: [], tags: [] };
const choice = (c: RunChoice): [string, string] => [c.value, `${c.value} (${count(c.runs)})`];

function Filters({ choices }: { choices: RunChoices }) {
  const [text, setText] = useField("q", "", true);
  return (
    <div class="filters">
      <input
        type="search"
        data-search
        placeholder="Search runs ( / )"
        aria-label="Search runs"
        value={text}
        onInput={(e) => setText(e.currentTarget.value)}
      />
      <FilterChoice name="model" label="Model" choices={choices.models.map(choice)} />
      <FilterChoice name="device" label="Device" choices={choices.devices.map(choice)} />
      <FilterChoice name="backend" label="Backend" choices={choices.backends.map(choice)} />
      <FilterChoice name="format" label="Format" choices={choices.formats.map(choice)} />
      <FilterChoice name="tag" label="Tag" choices={choices.tags.map(choice)} />
      <FilterChoice name="days" label="Imported" choices={TIMES} />
    </div>
  );
}

function NoRuns() {
  return (
    <EmptyNote title="No runs yet">
      <p>
        Drop a profile onto this page, choose one with Import, or run <code>neurolens import FILE</code>. PyTorch
        traces, Nsight Systems, rocprof, Perfetto and others are read; <a href="/system">System</a> lists the formats.
      </p>
    </EmptyNote>
  );
}

// The runs that are selected, oldest first: the oldest one is side A of a comparison.
function useSelection(rows: RunPages) {
  const [chosen, setChosen] = useField("sel");
  const ids = useMemo(() => chosen.split(",").filter(Boolean), [chosen]);
  const listed = useMemo(() => new Map([...rows.runs()].map((r) => [r.run_id, r])), [rows]);
  // A run that was selected stays known when the list scrolls or changes, until the list is asked for anew.
  const known = useRef({ round: rows.round, runs: new Map<string, ListedRun>() });
  const seen = useMemo(() => {
    const kept = known.current.round === rows.round ? known.current.runs : [];
    known.current = { round: rows.round, runs: new Map([...kept, ...listed]) };
    return known.current.runs;
  }, [listed, rows.round]);
  const runs = useRunsById(ids, seen);
  const toggle = (id: string) => {
    const next = new Set(ids);
    if (!next.delete(id)) next.add(id);
    setChosen([...next].join(","));
  };
  const sides = [...runs.values()].sort((a, b) => a.created_at_ns - b.created_at_ns).map((r) => r.run_id);
  return { selected: new Set(runs.keys()), sides, toggle, clear: () => setChosen("") };
}

function useCompareKey(sides: string[]): string | null {
  const comparison = sides.length > 1 ? compareAddress(sides.slice(0, 1), sides.slice(1)) : null;
  useEffect(
    () =>
      bindKeys([
        {
          keys: "c",
          about: "Compare the selected runs",
          run: () => {
            if (comparison) goTo(comparison);
          },
        },
      ]),
    [comparison],
  );
  return comparison;
}

interface RunTableProps {
  list: RunList;
  rows: RunPages;
  order: SortOrder;
  onOrder: (order: SortOrder) => void;
}

function RunTable({ list, rows, order, onOrder }: RunTableProps) {
  const { selected, sides, toggle, clear } = useSelection(rows);
  const comparison = useCompareKey(sides);
  return (
    <>
      <div class="bar">
        <span role="status">
          {rows.length === rows.total
            ? plural(rows.total, "run")
            : `${count(rows.length)} of ${plural(rows.total, "run")}`}
        </span>
        {selected.size > 0 && (
          <>
            <span>{count(selected.size)} selected</span>
            <button type="button" disabled={!comparison} onClick={() => comparison && goTo(comparison)}>
              Compare
            </button>
            <button type="button" onClick={clear}>
              Clear
            </button>
          </>
        )}
      </div>
      {rows.length === 0 ? (
        <EmptyNote title="No run matches these filters">
          <p>
            <a href="/">Show all runs</a>
          </p>
        </EmptyNote>
      ) : (
        <Grid
          label="Runs"
          rows={rows}
          columns={columnsOf(selected, toggle, list.histories)}
          rowKey={(r) => r.run_id}
          order={order}
          onOrder={onOrder}
          onOpen={(r) => goTo(runAddress(r.run_id))}
          onSelect={(r) => toggle(r.run_id)}
          isSelected={(r) => selected.has(r.run_id)}
          onWindow={list.onWindow}
          isBusy={list.isAsking}
          heightPx={Math.max(320, window.innerHeight - 250)}
          card={(r) => runCard(r, selected.has(r.run_id), toggle)}
        />
      )}
    </>
  );
}

// Calls it when the reader comes back to the page: runs that were deleted are announced by nobody.
function useReturn(onReturn: () => void): void {
  const latest = useRef(onReturn);
  latest.current = onReturn;
  useEffect(() => {
    const onVisible = () => {
      if (document.visibilityState === "visible") latest.current();
    };
    document.addEventListener("visibilitychange", onVisible);
    window.addEventListener("focus", onVisible);
    return () => {
      document.removeEventListener("visibilitychange", onVisible);
      window.removeEventListener("focus", onVisible);
    };
  }, []);
}

export function RunsView() {
  const { fields } = useRoute();
  const [text, tag, model, device, backend, format, days] = FILTERS.map((name) => fields.get(name) ?? "");
  const [orderField, setOrder] = useField("sort");
  const order = useMemo(() => parseOrder(orderField), [orderField]);
  const list = useRunList(listFields({ text, tag, model, device, backend, format, days: Number(days) || 0 }, order));
  const [choices, choicesAgain] = useRunChoices();
  const again = () => {
    list.again();
    choicesAgain(true);
  };
  useChannel(newRuns, again);
  useChannel(connection, (state) => {
    if (state === "reconnected") again();
  });
  useReturn(again);
  useEffect(() => {
    document.title = "Runs – NeuroLens";
  }, []);
  const { rows, problem } = list;
  return (
    <>
      <div class="title">
        <h1>Runs</h1>
        <ImportPanel onDone={() => {}} />
      </div>
      {problem && <ProblemNote problem={problem} onRetry={again} />}
      {!rows && !problem && <LoadingNote what="the runs" />}
      {rows?.total === 0 && <NoRuns />}
      {rows && rows.total > 0 && (
        <>
          <Filters choices={(choices.state === "loaded" && choices.reply.choices) || NO_CHOICES} />
          <RunTable list={list} rows={rows} order={order} onOrder={(o) => setOrder(orderText(o))} />
        </>
      )}
    </>
  );
}
