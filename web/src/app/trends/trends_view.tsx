// SPDX-License-Identifier: Apache-2.0
// A metric over the runs of one workload, with the points where its level changed.
import { useEffect, useMemo, useState } from "preact/hooks";
import type { TrendReply, TrendRun } from "../../data/generated";
import { useWidth } from "../../widgets/canvas";
import { bytes, cut, ms, pct, plural, short3 } from "../../widgets/format";
import { SortTable } from "../../widgets/table";
import { Tip } from "../../widgets/tip";
import { goTo, useField } from "../navigation";
import { compareAddress, runAddress } from "../route";
import { deviceText } from "../runs/run_list";
import { useRunChoices } from "../runs/use_runs";
import { useCall } from "../session";
import { EmptyNote, Loaded } from "../states";
import { endLabels, levelsOf, scaleOf } from "./trend_scale";

const HEIGHT = 320;
const LEFT = 70;
const RIGHT = 16;
const TOP = 14;
const BOTTOM = 30;

const METRICS: [value: string, label: string][] = [
  ["wall", "Wall time"],
  ["device", "Device time"],
  ["idle", "Idle time"],
  ["ttft", "Time to first token"],
  ["tpot", "Time per output token"],
  ["tokens_per_s", "Tokens per second"],
  ["mfu", "MFU"],
  ["mbu", "MBU"],
  ["memory", "Peak memory"],
];

function valueText(value: number | null, unit: string): string {
  if (value === null) return "–";
  if (unit === "ms") return ms(value);
  if (unit === "bytes") return bytes(value);
  if (unit === "share") return pct(value);
  return `${short3(value)} ${unit}`;
}

const signed = (share: number | null): string => `${share !== null && share > 0 ? "+" : ""}${pct(share)}`;

interface ChartProps {
  trend: TrendReply;
  selected: string[];
  onSelect: (run: string, more: boolean) => void;
}

function Chart({ trend, selected, onSelect }: ChartProps) {
  const [box, width] = useWidth();
  const [hover, setHover] = useState<{ run: TrendRun; x: number; y: number } | null>(null);
  const { runs, unit } = trend;
  const [first, last] = endLabels(runs.map((r) => r.created_at));
  const baselines = trend.baselines.flatMap((b) => (b.value === null ? [] : [{ name: b.name, value: b.value }]));
  const scale = useMemo(
    () => scaleOf([...runs, ...trend.baselines].flatMap((r) => (r.value === null ? [] : [r.value]))),
    [runs, trend.baselines],
  );
  const x = (i: number) => LEFT + ((i + 0.5) / Math.max(1, runs.length)) * (width - LEFT - RIGHT);
  const y = (v: number) => TOP + ((scale.high - v) / (scale.high - scale.low)) * (HEIGHT - TOP - BOTTOM);
  const changes = new Map(trend.change_points.map((c) => [c.index, c]));
  return (
    <div class="lanes trend" ref={box}>
      {width > 0 && (
        // biome-ignore lint/a11y/useSemanticElements: HTML has no group inside of SVG
        <svg
          width={width}
          height={HEIGHT}
          role="group"
          aria-label={`${trend.metric} over ${plural(runs.length, "run")}`}
        >
          {scale.marks.map((m) => (
            <g key={m}>
              <line class="grid" x1={LEFT} x2={width - RIGHT} y1={y(m)} y2={y(m)} />
              <text x={LEFT - 6} y={y(m) + 4} text-anchor="end">
                {valueText(m, unit)}
              </text>
            </g>
          ))}
          {levelsOf(runs).map((l) => (
            <line key={l.from} class="level" x1={x(l.from - 0.4)} x2={x(l.to + 0.4)} y1={y(l.level)} y2={y(l.level)} />
          ))}
          {baselines.map((b) => (
            <g key={b.name} class="baseline">
              <line x1={LEFT} x2={width - RIGHT} y1={y(b.value)} y2={y(b.value)} />
              <text x={width - RIGHT} y={y(b.value) - 4} text-anchor="end">
                baseline {cut(b.name, 40)}
              </text>
            </g>
          ))}
          {trend.change_points.map((c) => (
            <g key={c.index} class={`change ${c.class}`}>
              <line x1={x(c.index - 0.5)} x2={x(c.index - 0.5)} y1={TOP} y2={HEIGHT - BOTTOM} />
              <text x={x(c.index - 0.5) + 4} y={TOP + 10}>
                {c.class} {signed(c.change)}
              </text>
            </g>
          ))}
          {runs.map(
            (r, i) =>
              r.value !== null && (
                // biome-ignore lint/a11y/useSemanticElements: HTML has no button inside of SVG
                <circle
                  key={r.run_id}
                  class={`trendpoint ${selected.includes(r.run_id) ? "selected" : ""} ${changes.get(i)?.class ?? ""}`}
                  cx={x(i)}
                  cy={y(r.value)}
                  r={5}
                  role="button"
                  tabIndex={0}
                  aria-label={`${cut(r.source_name, 60)}, ${valueText(r.value, unit)}`}
                  aria-pressed={selected.includes(r.run_id)}
                  onClick={(e) => onSelect(r.run_id, e.shiftKey || e.ctrlKey || e.metaKey)}
                  onKeyDown={(e) => {
                    if (e.key === "Enter" || e.key === " ") {
                      e.preventDefault();
                      onSelect(r.run_id, e.key === " " || e.shiftKey);
                    }
                  }}
                  onMouseEnter={() => setHover({ run: r, x: x(i), y: y(r.value ?? 0) })}
                  onMouseLeave={() => setHover(null)}
                />
              ),
          )}
          <text x={LEFT} y={HEIGHT - 8}>
            {first}
          </text>
          <text x={width - RIGHT} y={HEIGHT - 8} text-anchor="end">
            {last}
          </text>
        </svg>
      )}
      {hover && (
        <Tip x={hover.x} y={hover.y} room={width} title={cut(hover.run.source_name || hover.run.short_id, 120)}>
          <span>{valueText(hover.run.value, unit)}</span>
          <span>{hover.run.created_at.slice(0, 16).replace("T", " ")}</span>
          <span class="muted">Click opens it; Shift-click selects it for a comparison</span>
        </Tip>
      )}
    </div>
  );
}

// "; the newest run +2.4 %".
function sinceBaseline(trend: TrendReply, baseline: number): string {
  const newest = [...trend.runs].reverse().find((r) => r.value !== null)?.value ?? null;
  if (newest === null || baseline === 0) return "";
  return `; the newest run ${signed(newest / baseline - 1)}`;
}

function Trend({ trend }: { trend: TrendReply }) {
  const [chosen, setChosen] = useField("sel");
  const selected = chosen.split(",").filter(Boolean);
  const { workload } = trend;
  const onSelect = (run: string, more: boolean) => {
    if (!more && selected.length === 0) goTo(runAddress(run));
    else if (selected.includes(run)) setChosen(selected.filter((id) => id !== run).join(","));
    else if (selected.length === 1) {
      const order = trend.runs.map((r) => r.run_id);
      const [a, b] = [selected[0], run].sort((l, r) => order.indexOf(l) - order.indexOf(r));
      goTo(compareAddress([a], [b]));
    } else setChosen(run);
  };
  return (
    <section>
      <h2>
        {METRICS.find(([value]) => value === trend.metric)?.[1] ?? cut(trend.metric, 60)}
        {workload && (
          <span class="muted">
            {" "}
            of {cut(workload.model || "runs without a model name", 60)} on {deviceText(workload)}
            {workload.precision && `, ${workload.precision}`}
          </span>
        )}
      </h2>
      <Chart trend={trend} selected={selected} onSelect={onSelect} />
      <p class="note" role="status">
        {selected.length === 1
          ? "One run selected: choose a second one to compare them."
          : "Click a point to open the run. Shift-click, or Space on the keyboard, selects two to compare."}
        {trend.left_out > 0 && ` ${plural(trend.left_out, "run")} on another device, precision or backend left out.`}
      </p>
      {trend.baselines.map((b) => (
        <p class="note" key={b.name}>
          Baseline {cut(b.name, 60)}:{" "}
          {b.value === null
            ? `no value: ${cut(b.reason ?? "", 300)}`
            : `${valueText(b.value, trend.unit)}${b.runs > 1 ? `, median of ${plural(b.runs, "run")}` : ""}${sinceBaseline(trend, b.value)}`}
        </p>
      ))}
      {trend.unreadable.map((u) => (
        <p class="note" key={u.reason}>
          No value for {plural(u.runs.length, "run")}: {cut(u.reason, 300)}
        </p>
      ))}
      <SortTable
        id="trend"
        rows={trend.runs}
        sort=""
        columns={[
          {
            key: "run",
            label: "Run",
            text: true,
            value: (r) => r.source_name,
            show: (r) => <a href={runAddress(r.run_id)}>{cut(r.source_name || r.short_id, 60)}</a>,
          },
          { key: "value", label: "Value", value: (r) => r.value, show: (r) => valueText(r.value, trend.unit) },
          { key: "change", label: "Change", value: (r) => r.change, show: (r) => signed(r.change) },
          { key: "level", label: "Level", value: (r) => r.level, show: (r) => valueText(r.level, trend.unit) },
          {
            key: "at",
            label: "Imported (UTC)",
            text: true,
            value: (r) => r.created_at,
            show: (r) => r.created_at.slice(0, 16).replace("T", " "),
          },
        ]}
      />
    </section>
  );
}

export function TrendsView() {
  const [metric, setMetric] = useField("metric", "wall");
  const [model, setModel] = useField("model", "");
  const [typed, setTyped] = useState(model);
  const [choices] = useRunChoices();
  const asked = useCall("trend", { metric, ...(model ? { model } : {}) });
  useEffect(() => setTyped(model), [model]);
  useEffect(() => {
    document.title = "Trends – NeuroLens";
  }, []);
  const options = METRICS.some(([value]) => value === metric) ? METRICS : [...METRICS, [metric, metric]];
  return (
    <>
      <div class="title">
        <h1>Trends</h1>
      </div>
      <form
        class="filters"
        onSubmit={(e) => {
          e.preventDefault();
          setModel(typed);
        }}
      >
        <label>
          <span>Metric</span>
          <select value={metric} onChange={(e) => setMetric(e.currentTarget.value)}>
            {options.map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <input
          type="search"
          data-search
          aria-label="Model name contains"
          placeholder="Model name ( / )"
          list="trend-models"
          value={typed}
          onInput={(e) => setTyped(e.currentTarget.value)}
        />
        <datalist id="trend-models">
          {choices.state === "loaded" &&
            choices.reply.choices?.models.map((m) => (
              <option key={m.value} value={m.value} label={plural(m.runs, "run")} />
            ))}
        </datalist>
        <button type="submit">Show</button>
      </form>
      <Loaded what="the trend" from={asked}>
        {(trend) =>
          trend.runs.length === 0 ? (
            <EmptyNote title="No runs for a trend">
              <p>No run matches. Import runs of one workload, or change the model name.</p>
            </EmptyNote>
          ) : (
            <Trend trend={trend} />
          )
        }
      </Loaded>
    </>
  );
}
