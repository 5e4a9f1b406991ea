// SPDX-License-Identifier: Apache-2.0
// All runs of the store: filtered, sorted, selected for a comparison, and kept current by the events of the server.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ListedRun, LsReply } from "../../data/generated";
import { bytes, count, cut, ms, plural } from "../../widgets/format";
import type { SortOrder } from "../../widgets/sort_rows";
import { sortRows } from "../../widgets/sort_rows";
import type { GridColumn } from "../grid";
import { Grid } from "../grid";
import { bindKeys } from "../keys";
import { goTo, useField, useRoute } from "../navigation";
import { compareAddress, runAddress } from "../route";
import { client, connection, newRuns, useChannel, useLoad } from "../session";
import { EmptyNote, Loaded } from "../states";
import { ImportPanel } from "./import_panel";
import { choicesOf, matchingRuns, withRun, workloadHistories, workloadOf } from "./run_list";
import { Sparkline } from "./sparkline";

const NEWEST: SortOrder = { key: "created", descending: true };
const FILTERS = ["q", "tag", "model", "device", "format", "days"] as const;

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
  histories: Map<string, number[]>,
): GridColumn<ListedRun>[] {
  return [
    {
      key: "select",
      label: "",
      fixed: true,
      text: true,
      width: 30,
      value: () => null,
      show: (r) => (
        <input
          type="checkbox"
          tabIndex={-1}
          aria-label={`Select ${cut(nameOf(r), 60)} ${r.short_id}`}
          checked={selected.has(r.run_id)}
          onChange={() => toggle(r.run_id)}
        />
      ),
    },
    {
      key: "model",
      label: "Run",
      text: true,
      width: 210,
      value: nameOf,
      title: (r) => cut(`${nameOf(r)} ${r.source_name}`, 300),
      show: (r) => (
        <>
          <a href={runAddress(r.run_id)} tabIndex={-1}>
            {cut(nameOf(r), 60)}
          </a>
          {r.lost_records > 0 && (
            <span class="lost" title={`${count(r.lost_records)} records lost`}>
              !
            </span>
          )}
        </>
      ),
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
        return values ? <Sparkline values={values} /> : "";
      },
    },
    {
      key: "device",
      label: "Device",
      text: true,
      width: 160,
      value: (r) => r.device,
      show: (r) =>
        (r.device_count > 1 ? `${r.device_count} × ` : "") + cut(r.device || (r.device_count ? "GPU" : "CPU"), 40),
    },
    { key: "precision", label: "Type", text: true, width: 60, value: (r) => r.precision, show: (r) => r.precision },
    {
      key: "created",
      label: "Imported (UTC)",
      text: true,
      width: 140,
      value: (r) => r.created_at_ns,
      show: (r) => timeText(r.created_at_ns),
    },
    { key: "kernels", label: "Kernels", width: 84, value: (r) => r.kernel_count, show: (r) => count(r.kernel_count) },
    {
      key: "format",
      label: "Format",
      text: true,
      width: 110,
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
      show: (r) =>
        Object.entries(r.tags).map(([key, value]) => (
          <span class="tag" key={key}>
            {cut(`${key}=${value}`, 40)}
          </span>
        )),
    },
    { key: "size", label: "Stored", width: 84, value: (r) => r.stored_bytes, show: (r) => bytes(r.stored_bytes) },
    { key: "id", label: "Id", text: true, width: 130, value: (r) => r.run_id, show: (r) => <code>{r.short_id}</code> },
  ];
}

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

function Filters({ runs }: { runs: ListedRun[] }) {
  const [text, setText] = useField("q", "", true);
  const choices = useMemo(() => choicesOf(runs), [runs]);
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
      <FilterChoice name="model" label="Model" choices={choices.models} />
      <FilterChoice name="device" label="Device" choices={choices.devices} />
      <FilterChoice name="format" label="Format" choices={choices.formats} />
      <FilterChoice name="tag" label="Tag" choices={choices.tags} />
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

function RunTable({ runs }: { runs: ListedRun[] }) {
  const { fields } = useRoute();
  const [q, tag, model, device, format, days] = FILTERS.map((name) => fields.get(name) ?? "");
  const [orderField, setOrder] = useField("sort");
  const [chosen, setChosen] = useField("sel");
  const order = useMemo(() => parseOrder(orderField), [orderField]);
  const histories = useMemo(() => workloadHistories(runs), [runs]);
  const selected = useMemo(() => {
    const known = new Set(runs.map((r) => r.run_id));
    return new Set(chosen.split(",").filter((id) => known.has(id)));
  }, [chosen, runs]);
  const toggle = (id: string) => {
    const next = new Set(selected);
    if (!next.delete(id)) next.add(id);
    setChosen([...next].join(","));
  };
  const columns = columnsOf(selected, toggle, histories);
  const shown = useMemo(() => {
    const filters = { text: q, tag, model, device, format, days: Number(days) || 0 };
    return sortRows(
      matchingRuns(runs, filters, Date.now() * 1e6),
      columnsOf(new Set(), () => {}, new Map()),
      order,
    );
  }, [runs, q, tag, model, device, format, days, order]);
  // The older run is the first side.
  const sides = runs.filter((r) => selected.has(r.run_id)).sort((a, b) => a.created_at_ns - b.created_at_ns);
  const comparison = compareAddress(
    sides.slice(0, 1).map((r) => r.run_id),
    sides.slice(1).map((r) => r.run_id),
  );
  const canCompare = sides.length > 1;
  useEffect(
    () =>
      bindKeys([
        {
          keys: "c",
          about: "Compare the selected runs",
          run: () => {
            if (canCompare) goTo(comparison);
          },
        },
      ]),
    [canCompare, comparison],
  );
  return (
    <>
      <Filters runs={runs} />
      <div class="bar">
        <span role="status">
          {shown.length === runs.length
            ? plural(runs.length, "run")
            : `${count(shown.length)} of ${plural(runs.length, "run")}`}
        </span>
        {selected.size > 0 && (
          <>
            <span>{count(selected.size)} selected</span>
            <button type="button" disabled={!canCompare} onClick={() => goTo(comparison)}>
              Compare
            </button>
            <button type="button" onClick={() => setChosen("")}>
              Clear
            </button>
          </>
        )}
      </div>
      {shown.length === 0 ? (
        <EmptyNote title="No run matches these filters">
          <p>
            <a href="/">Show all runs</a>
          </p>
        </EmptyNote>
      ) : (
        <Grid
          label="Runs"
          rows={shown}
          columns={columns}
          rowKey={(r) => r.run_id}
          order={order}
          onOrder={(o) => setOrder(orderText(o))}
          onOpen={(r) => goTo(runAddress(r.run_id))}
          onSelect={(r) => toggle(r.run_id)}
          isSelected={(r) => selected.has(r.run_id)}
          heightPx={Math.max(320, window.innerHeight - 250)}
        />
      )}
    </>
  );
}

export function RunsView() {
  const [added, setAdded] = useState<ListedRun[]>([]);
  const list = useLoad("ls", async (signal) => {
    const reply = await client.json<LsReply>("/api/v1/runs?limit=0", { signal });
    setAdded([]);
    return reply;
  });
  const [, again] = list;
  useChannel(newRuns, (run) => setAdded((all) => withRun(all, run)));
  useChannel(connection, (state) => {
    if (state === "reconnected") again(true);
  });
  useEffect(() => {
    document.title = "Runs – NeuroLens";
  }, []);
  // Runs that were deleted are announced by nobody: who comes back to the page sees the list as it is now.
  const reload = useRef(again);
  reload.current = again;
  useEffect(() => {
    const onVisible = () => {
      if (document.visibilityState === "visible") reload.current(true);
    };
    document.addEventListener("visibilitychange", onVisible);
    window.addEventListener("focus", onVisible);
    return () => {
      document.removeEventListener("visibilitychange", onVisible);
      window.removeEventListener("focus", onVisible);
    };
  }, []);
  return (
    <>
      <div class="title">
        <h1>Runs</h1>
        <ImportPanel onDone={() => {}} />
      </div>
      <Loaded what="the runs" from={list}>
        {(reply) => {
          const runs = added.reduceRight(withRun, reply.runs);
          return runs.length === 0 ? <NoRuns /> : <RunTable runs={runs} />;
        }}
      </Loaded>
    </>
  );
}
