// SPDX-License-Identifier: Apache-2.0
// The run in time: streams above, threads below. Zoom with the buttons, Ctrl and the wheel, W and S, or by dragging
// over the overview; move by dragging, A and D, or the arrows. A click on a span marks all of its name.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { label, sharp, useTheme, useWidth } from "./canvas";
import { count, cut, us } from "./format";
import type { Lane, Timeline } from "./model";
import { color } from "./theme";
import type { View } from "./view";
import { AXIS, brushView, drawAxis, useView, useWheelZoom, ZoomButtons } from "./view";

const ROW = 15;
const HEAD = 19;
const OVERVIEW = 46;
const LEVELS = 8; // of a thread, until it is opened
const LANES = 24; // until all are asked for

interface Placed { lane: Lane; top: number; rows: number }
interface Hover { x: number; y: number; lane: Lane; index: number }

function place(lanes: Lane[], open: Set<Lane>): { placed: Placed[]; height: number } {
  let top = AXIS;
  const placed = lanes.map((lane) => {
    const rows = open.has(lane) ? lane.depth_max + 1 : Math.min(lane.depth_max + 1, LEVELS);
    const at = { lane, top, rows };
    top += HEAD + rows * ROW + 6;
    return at;
  });
  return { placed, height: top };
}

function drawLane(context: CanvasRenderingContext2D, { lane, top, rows }: Placed, view: View, width: number, timeline: Timeline,
  fills: string[], marked: number | null): void {
  const scale = width / (view.to - view.from);
  const last = new Float64Array(rows).fill(-1); // right edge of what is drawn, so that hidden spans cost nothing
  const ink = color("--on-span");
  const texts: [number, number, number, number][] = [];
  for (let i = 0; i < lane.start_us.length; ++i) {
    const row = lane.depth[i];
    if (row >= rows) continue;
    const start = lane.start_us[i];
    const end = start + lane.dur_us[i];
    if (end < view.from || start > view.to) continue;
    const isMarked = marked !== null && lane.name_id[i] === marked;
    const x = Math.max(0, (start - view.from) * scale);
    const right = Math.min(width, Math.max(x + 0.7, (end - view.from) * scale));
    if (right <= last[row] + 0.3 && !isMarked) continue;
    last[row] = right;
    context.globalAlpha = marked === null || isMarked ? 1 : 0.25;
    context.fillStyle = fills[lane.category[i]];
    const y = top + HEAD + row * ROW;
    context.fillRect(x, y, Math.max(0.7, right - x - (right - x > 3 ? 1 : 0)), ROW - 2);
    if (right - x > 26) texts.push([i, x, y, right - x]);
  }
  context.globalAlpha = 1;
  context.font = "10.5px system-ui, sans-serif";
  context.fillStyle = ink;
  for (const [i, x, y, room] of texts) label(context, timeline.names[lane.name_id[i]], x, y + ROW / 2 - 0.5, room, 6);
}

function drawHead(context: CanvasRenderingContext2D, at: Placed, width: number): void {
  const hidden = at.lane.depth_max + 1 - at.rows;
  context.font = "600 11.5px system-ui, sans-serif";
  context.fillStyle = color("--text");
  const title = cut(at.lane.name, 80);
  context.fillText(title, 2, at.top + HEAD / 2);
  const used = context.measureText(title).width;
  context.font = "11px system-ui, sans-serif";
  context.fillStyle = color("--muted");
  const note = hidden > 0 ? `${count(at.lane.start_us.length)} spans, ${hidden} deeper levels: click to open` : `${count(at.lane.start_us.length)} spans`;
  if (used + 20 < width) context.fillText(note, used + 10, at.top + HEAD / 2);
}

// How much of each pixel column the lanes of one kind cover, per category: height tells how busy, not only that.
function coverage(timeline: Timeline, kind: Lane["kind"], width: number): Float32Array[] {
  const sums = timeline.categories.map(() => new Float32Array(width));
  const scale = width / timeline.wall_us;
  for (const lane of timeline.lanes) {
    if (lane.kind !== kind) continue;
    for (let i = 0; i < lane.start_us.length; ++i) {
      if (kind === "host" && lane.depth[i] > 0) continue; // what the outermost span covers, its callees do too
      const from = lane.start_us[i] * scale;
      const to = from + lane.dur_us[i] * scale;
      const last = Math.min(width - 1, Math.floor(to));
      for (let x = Math.max(0, Math.floor(from)); x <= last; ++x) sums[lane.category[i]][x] += Math.min(to, x + 1) - Math.max(from, x);
    }
  }
  return sums;
}

function drawOverview(canvas: HTMLCanvasElement, width: number, timeline: Timeline, fills: string[], view: View, bars: Record<Lane["kind"], Float32Array[]>): void {
  const context = sharp(canvas, width, OVERVIEW);
  const scale = width / timeline.wall_us;
  context.fillStyle = color("--sunken");
  context.fillRect(0, 0, width, OVERVIEW);
  for (const [kind, bottom, height] of [["device", 29, 26], ["host", 43, 11]] as const) {
    for (let x = 0; x < width; ++x) {
      let y = bottom;
      let whole = 0;
      for (const sum of bars[kind]) whole += sum[x] ?? 0;
      const shrink = height / Math.max(1, whole); // several streams at once fill the column, not more
      for (let c = 0; c < fills.length; ++c) {
        const size = (bars[kind][c][x] ?? 0) * shrink;
        if (size <= 0) continue;
        context.fillStyle = fills[c];
        context.fillRect(x, y - size, 1, size);
        y -= size;
      }
    }
  }
  context.fillStyle = color("--shade");
  context.fillRect(0, 0, view.from * scale, OVERVIEW);
  context.fillRect(view.to * scale, 0, width - view.to * scale, OVERVIEW);
  context.strokeStyle = color("--accent");
  context.strokeRect(view.from * scale + 0.5, 0.5, Math.max(1, (view.to - view.from) * scale - 1), OVERVIEW - 1);
}

function Tip({ hover, timeline, width }: { hover: Hover; timeline: Timeline; width: number }) {
  const { lane, index } = hover;
  const merged = lane.count?.[index] ?? 1;
  return (
    <div class="tip" style={{ left: `${Math.min(hover.x + 14, Math.max(0, width - 300))}px`, top: `${hover.y + 16}px` }}>
      <b>{timeline.names[lane.name_id[index]]}</b>
      <span>{timeline.categories[lane.category[index]]}, {lane.name}</span>
      <span>{us(lane.dur_us[index])} from {us(lane.start_us[index])}</span>
      {merged > 1 && <span>{count(merged)} spans drawn as one; the name is the longest one’s</span>}
    </div>
  );
}

export function TimelineSection({ timeline }: { timeline: Timeline }) {
  const [box, width] = useWidth();
  const canvas = useRef<HTMLCanvasElement>(null);
  const overview = useRef<HTMLCanvasElement>(null);
  const theme = useTheme();
  const [open, setOpen] = useState<Set<Lane>>(new Set());
  const [all, setAll] = useState(false);
  const [hover, setHover] = useState<Hover | null>(null);
  const [marked, setMarked] = useState<number | null>(null);
  const drag = useRef<{ x: number; view: View; moved: boolean } | null>(null);
  const control = useView(timeline.wall_us, 0.05, () => setMarked(null));
  const { view, setView, zoom } = control;

  const lanes = all ? timeline.lanes : timeline.lanes.slice(0, LANES);
  const { placed, height } = useMemo(() => place(lanes, open), [all, open]);

  const bars = useMemo(() => ({ device: coverage(timeline, "device", Math.max(1, width)), host: coverage(timeline, "host", Math.max(1, width)) }), [width]);

  useEffect(() => {
    if (!canvas.current || !overview.current || width === 0) return;
    const fills = timeline.categories.map((c) => color(`--cat-${c}`));
    const context = sharp(canvas.current, width, height);
    drawAxis(context, view, width, AXIS / 2, AXIS - 4, height);
    for (const at of placed) {
      drawHead(context, at, width);
      drawLane(context, at, view, width, timeline, fills, marked);
    }
    drawOverview(overview.current, width, timeline, fills, view, bars);
  }, [width, height, view, placed, marked, theme]);

  useWheelZoom(canvas, zoom);

  const find = (x: number, y: number): Hover | null => {
    const at = placed.find((p) => y >= p.top + HEAD && y < p.top + HEAD + p.rows * ROW);
    if (!at) return null;
    const row = Math.floor((y - at.top - HEAD) / ROW);
    const perPixel = (view.to - view.from) / width;
    const time = view.from + x * perPixel;
    let best = -1;
    for (let i = 0; i < at.lane.start_us.length; ++i) {
      if (at.lane.depth[i] !== row) continue;
      const start = at.lane.start_us[i] - perPixel;
      if (time >= start && time <= at.lane.start_us[i] + at.lane.dur_us[i] + perPixel) best = i;
    }
    return best < 0 ? null : { x, y, lane: at.lane, index: best };
  };

  const onMove = (event: MouseEvent) => {
    const held = drag.current;
    if (held) {
      const part = (held.x - event.offsetX) / width;
      if (Math.abs(held.x - event.offsetX) > 3) held.moved = true;
      const span = held.view.to - held.view.from;
      setView({ from: held.view.from + part * span, to: held.view.to + part * span });
      setHover(null);
      return;
    }
    setHover(find(event.offsetX, event.offsetY));
  };
  const onClick = (event: MouseEvent) => {
    const head = placed.find((p) => event.offsetY >= p.top && event.offsetY < p.top + HEAD);
    if (head && head.lane.depth_max + 1 > LEVELS) {
      const next = new Set(open);
      if (!next.delete(head.lane)) next.add(head.lane);
      setOpen(next);
      return;
    }
    const hit = find(event.offsetX, event.offsetY);
    setMarked(hit && hit.lane.name_id[hit.index] !== marked ? hit.lane.name_id[hit.index] : null);
  };
  const brush = (event: MouseEvent) => brushView(event, overview.current!, control);

  const used = useMemo(() => {
    const seen = new Set<number>();
    for (const lane of timeline.lanes) for (const c of lane.category) seen.add(c);
    return timeline.categories.map((name, i) => ({ name, i })).filter(({ i }) => seen.has(i));
  }, []);

  return (
    <div class="timeline" id="timeline-view" data-from={view.from} data-to={view.to}>
      <div class="bar">
        <ZoomButtons control={control} all="Whole run" />
        <span class="muted">{us(view.from)} to {us(view.to)}</span>
        <span class="legend">
          {used.map(({ name }) => <span key={name}><i style={{ background: `var(--cat-${name})` }} />{name}</span>)}
        </span>
      </div>
      <div class="lanes" ref={box}>
        <canvas ref={overview} class="overview" onMouseDown={brush} role="img" aria-label="Overview: drag to choose a span of time" />
        <div class="lanes-scroll">
          <canvas ref={canvas} tabIndex={0} role="img" aria-label="Timeline of the run" onMouseMove={onMove}
            onMouseLeave={() => { setHover(null); drag.current = null; }}
            onMouseDown={(e) => { drag.current = { x: e.offsetX, view, moved: false }; }}
            onMouseUp={(e) => { const held = drag.current; drag.current = null; if (!held?.moved) onClick(e); }}
            onDblClick={(e) => zoom(0.4, e.offsetX / width)} onKeyDown={control.onKey} />
        </div>
        {hover && <Tip hover={{ ...hover, y: hover.y + OVERVIEW + 4 - (canvas.current?.parentElement?.scrollTop ?? 0) }} timeline={timeline} width={width} />}
      </div>
      {timeline.lanes.length > LANES && (
        <button type="button" class="more" onClick={() => setAll(!all)}>
          {all ? `Show the first ${LANES} lanes` : `Show all ${timeline.lanes.length} lanes`}
        </button>
      )}
      <p class="note">
        {timeline.merged_below_us === null
          ? `All ${count(timeline.events_total)} spans are here. `
          : `${count(timeline.events_drawn)} shapes stand for ${count(timeline.events_total)} spans: neighbours within ${us(timeline.merged_below_us)} are drawn as one. `}
        Drag to move, Ctrl and the wheel or W and S to zoom, drag over the overview to choose, click a span to mark its name.
      </p>
    </div>
  );
}
