// SPDX-License-Identifier: Apache-2.0
// Both runs in time, A above B, each thing joined to its partner. What belongs to a change has the change's colour.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { label, sharp, useTheme, useWidth } from "./canvas";
import type { Comparison, Track } from "./compare_model";
import { deltaColors, signedMs } from "./delta";
import { count, cut, ms, us } from "./format";
import { color } from "./theme";
import type { View } from "./view";
import { AXIS, brushView, drawAxis, useView, useWheelZoom, ZoomButtons } from "./view";
import { causeText } from "./waterfall";

const ROW = 30;
const ROWS = 4; // of things that run at the same time
const HEAD = 20;
const JOIN = 62;
const STRIP = 15;
const CHIPS = 8;

type SideName = "a" | "b";
interface Lane { track: Track; row: Uint8Array; rows: number; end: number }
interface Hit { x: number; y: number; side: SideName; index: number }

// What runs at the same time takes several rows.
function stack(track: Track): Lane {
  const row = new Uint8Array(track.start_ms.length);
  const free: number[] = [];
  let end = 0;
  for (let i = 0; i < row.length; ++i) {
    let at = free.findIndex((t) => t <= track.start_ms[i] + 1e-9);
    if (at < 0) at = free.length < ROWS ? free.length : ROWS - 1;
    free[at] = Math.max(free[at] ?? 0, track.start_ms[i] + track.dur_ms[i]);
    row[i] = at;
    end = Math.max(end, free[at]);
  }
  return { track, row, rows: Math.max(1, free.length), end };
}

// The time in B at which it is where A is: between the starts of matched things.
function alignment(a: Track, b: Track): (time: number) => number {
  const from: number[] = [0], to: number[] = [0];
  for (let i = 0; i < a.start_ms.length; ++i) {
    const partner = a.partner[i];
    if (partner == null || a.start_ms[i] <= from[from.length - 1] || b.start_ms[partner] < to[to.length - 1]) continue;
    from.push(a.start_ms[i]);
    to.push(b.start_ms[partner]);
  }
  return (time) => {
    let low = 0, high = from.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (from[middle] <= time) low = middle;
      else high = middle - 1;
    }
    const next = low + 1;
    if (next >= from.length) return to[low] + time - from[low];
    return to[low] + ((time - from[low]) * (to[next] - to[low])) / (from[next] - from[low]);
  };
}

interface Paint { fill: (change: number | null) => string; faded: (change: number | null) => boolean; ink: string }

function drawLane(context: CanvasRenderingContext2D, lane: Lane, names: string[], view: View, width: number, top: number, paint: Paint): void {
  const { track, row } = lane;
  const scale = width / (view.to - view.from);
  const last = new Float64Array(ROWS).fill(-1); // right edge of what is drawn, so that hidden things cost nothing
  const texts: [number, number, number, number][] = [];
  // What did not change lies below what did.
  for (const changed of [false, true]) {
    last.fill(-1);
    for (let i = 0; i < row.length; ++i) {
      const change = track.change[i];
      if ((change != null) !== changed) continue;
      const start = track.start_ms[i], end = start + track.dur_ms[i];
      if (end < view.from || start > view.to) continue;
      const x = Math.max(0, (start - view.from) * scale);
      const right = Math.min(width, Math.max(x + (changed ? 1.2 : 0.6), (end - view.from) * scale));
      if (right <= last[row[i]] + 0.3) continue;
      last[row[i]] = right;
      context.globalAlpha = paint.faded(change) ? 0.2 : 1;
      context.fillStyle = paint.fill(change);
      const y = top + row[i] * ROW;
      context.fillRect(x, y, Math.max(0.6, right - x - (right - x > 3 ? 1 : 0)), ROW - 3);
      if (right - x > 30) texts.push([i, x, y, right - x]);
    }
  }
  context.globalAlpha = 1;
  context.font = "11px system-ui, sans-serif";
  context.fillStyle = paint.ink;
  for (const [i, x, y, room] of texts) label(context, names[track.name[i]] ?? "", x, y + ROW / 2 - 1, room, 6.2);
}

// Bands between partners: of every change, of the rest as many as can be told apart.
function drawJoins(context: CanvasRenderingContext2D, a: Lane, b: Lane, viewA: View, viewB: View, width: number, top: number, bottom: number, paint: Paint, hover: Hit | null): void {
  const scale = width / (viewA.to - viewA.from);
  const seen: number[] = [];
  for (let i = 0; i < a.row.length; ++i) {
    const partner = a.track.partner[i];
    if (partner == null) continue;
    const inA = a.track.start_ms[i] + a.track.dur_ms[i] >= viewA.from && a.track.start_ms[i] <= viewA.to;
    const inB = b.track.start_ms[partner] + b.track.dur_ms[partner] >= viewB.from && b.track.start_ms[partner] <= viewB.to;
    if (inA || inB) seen.push(i);
  }
  const every = seen.length < 500 ? 1 : Math.ceil(seen.length / 80);
  let drawn = 0;
  for (const [place, i] of seen.entries()) {
    const partner = a.track.partner[i]!;
    const change = b.track.change[partner] ?? a.track.change[i];
    const under = hover && (hover.side === "a" ? hover.index === i : hover.index === partner);
    if (place % every !== 0 && change == null && !under) continue;
    if (paint.faded(change) && !under) continue;
    if (++drawn > 3000) break;
    const x1 = (a.track.start_ms[i] - viewA.from) * scale, x2 = x1 + Math.max(0.8, a.track.dur_ms[i] * scale);
    const x3 = (b.track.start_ms[partner] - viewB.from) * scale, x4 = x3 + Math.max(0.8, b.track.dur_ms[partner] * scale);
    context.globalAlpha = under ? 0.85 : change == null ? 0.3 : 0.45;
    context.fillStyle = context.strokeStyle = paint.fill(change);
    const y1 = top - (a.rows - 1 - a.row[i]) * ROW, y2 = bottom + b.row[partner] * ROW;
    const middle = (y1 + y2) / 2;
    context.beginPath();
    context.moveTo(x1, y1);
    context.bezierCurveTo(x1, middle, x3, middle, x3, y2);
    context.lineTo(x4, y2);
    context.bezierCurveTo(x4, middle, x2, middle, x2, y1);
    context.fill();
    // A band that goes far aside is thinner than a pixel: its edge keeps it in sight.
    context.lineWidth = under ? 1.2 : 0.5;
    context.stroke();
  }
  context.globalAlpha = 1;
}

function drawStrip(canvas: HTMLCanvasElement, width: number, lanes: Lane[], views: View[], whole: number, paint: Paint): void {
  const height = lanes.length * STRIP + 4;
  const context = sharp(canvas, width, height);
  const scale = width / whole;
  context.fillStyle = color("--sunken");
  context.fillRect(0, 0, width, height);
  lanes.forEach(({ track }, k) => {
    for (const changed of [false, true]) {
      let last = -1;
      for (let i = 0; i < track.start_ms.length; ++i) {
        if ((track.change[i] != null) !== changed) continue;
        const x = track.start_ms[i] * scale;
        const right = Math.max(x + 0.7, x + track.dur_ms[i] * scale);
        if (right <= last + 0.3) continue;
        last = right;
        context.globalAlpha = paint.faded(track.change[i]) ? 0.25 : 1;
        context.fillStyle = paint.fill(track.change[i]);
        context.fillRect(x, 2 + k * STRIP + 1, right - x, STRIP - 2);
      }
    }
    context.globalAlpha = 1;
    const view = views[k];
    if (view.to - view.from > 0.999 * whole) return;
    context.strokeStyle = color("--accent");
    context.lineWidth = 1.5;
    context.strokeRect(view.from * scale, 2 + k * STRIP, Math.max(2, (view.to - view.from) * scale), STRIP - 1);
  });
}

interface Props { comparison: Comparison; names: { a: string; b: string } }
export function PairTimeline({ comparison, names }: Props) {
  const timeline = comparison.timeline!;
  const lanes = useMemo(() => ({ a: stack(timeline.a), b: stack(timeline.b) }), [timeline]);
  const toB = useMemo(() => alignment(timeline.a, timeline.b), [timeline]);
  const [box, width] = useWidth();
  const canvas = useRef<HTMLCanvasElement>(null);
  const strip = useRef<HTMLCanvasElement>(null);
  const theme = useTheme();
  const [aligned, setAligned] = useState(true);
  const [chosen, setChosen] = useState<number | null>(null);
  const [hover, setHover] = useState<Hit | null>(null);
  const drag = useRef<{ x: number; view: View; moved: boolean } | null>(null);
  const end = Math.max(lanes.a.end, lanes.b.end);
  const control = useView(end, 2e-5, () => setChosen(null));
  const { view, setView, zoom } = control;
  useWheelZoom(canvas, zoom);

  const fromB = aligned ? toB(view.from) : view.from;
  const viewB = { from: fromB, to: fromB + view.to - view.from };
  const topA = AXIS + HEAD, bottomA = topA + lanes.a.rows * ROW, topB = bottomA + JOIN, bottomB = topB + lanes.b.rows * ROW;
  const height = bottomB + HEAD + AXIS;

  const byRank = useMemo(() => new Map(comparison.contributions.map((c) => [c.rank, c])), [comparison]);
  const most = useMemo(() => Math.max(1e-12, ...comparison.contributions.filter((c) => c.cause !== "noise").map((c) => Math.abs(c.delta_ms ?? 0))), [comparison]);
  const present = useMemo(() => {
    const seen = new Set<number>();
    for (const track of [timeline.a, timeline.b]) for (const c of track.change) if (c != null) seen.add(c);
    return comparison.contributions.filter((c) => seen.has(c.rank));
  }, [timeline]);

  useEffect(() => {
    if (!canvas.current || !strip.current || width === 0) return;
    const shade = deltaColors();
    const plain = color("--span-same");
    const fills = new Map<number | null, string>([[null, plain]]);
    for (const c of comparison.contributions) {
      const d = c.delta_ms ?? 0;
      fills.set(c.rank, shade(Math.sign(d) * (0.35 + 0.65 * Math.sqrt(Math.abs(d) / most))));
    }
    const paint: Paint = {
      fill: (change) => fills.get(change) ?? plain, faded: (change) => chosen !== null && change !== chosen, ink: color("--on-span"),
    };
    const context = sharp(canvas.current, width, height);
    drawAxis(context, { from: view.from * 1e3, to: view.to * 1e3 }, width, AXIS / 2, AXIS - 4, bottomA);
    drawAxis(context, { from: viewB.from * 1e3, to: viewB.to * 1e3 }, width, height - AXIS / 2, topB, height - AXIS + 4);
    drawJoins(context, lanes.a, lanes.b, view, viewB, width, bottomA - 3, topB, paint, hover);
    drawLane(context, lanes.a, timeline.names, view, width, topA, paint);
    drawLane(context, lanes.b, timeline.names, viewB, width, topB, paint);
    context.fillStyle = color("--text");
    context.font = "600 12px system-ui, sans-serif";
    context.fillText(`A  ${cut(names.a, 80)}`, 2, AXIS + HEAD / 2);
    context.fillText(`B  ${cut(names.b, 80)}`, 2, bottomB + HEAD / 2 - 1);
    drawStrip(strip.current, width, [lanes.a, lanes.b], [view, viewB], control.whole.to, paint);
  }, [width, height, view, aligned, chosen, hover, theme]);

  const find = (x: number, y: number): Hit | null => {
    for (const side of ["a", "b"] as const) {
      const top = side === "a" ? topA : topB;
      const lane = lanes[side];
      if (y < top || y >= top + lane.rows * ROW) continue;
      const seen = side === "a" ? view : viewB;
      const perPixel = (seen.to - seen.from) / width;
      const time = seen.from + x * perPixel, row = Math.floor((y - top) / ROW);
      let best = -1;
      for (let i = 0; i < lane.row.length; ++i) {
        if (lane.row[i] !== row) continue;
        const start = lane.track.start_ms[i];
        if (time < start - perPixel || time > start + lane.track.dur_ms[i] + perPixel) continue;
        // Of several under one pixel, a change before the rest.
        if (best < 0 || lane.track.change[best] == null || lane.track.change[i] != null) best = i;
      }
      if (best >= 0) return { x, y, side, index: best };
    }
    return null;
  };
  const onMove = (event: MouseEvent) => {
    const held = drag.current;
    if (!held) {
      setHover(find(event.offsetX, event.offsetY));
      return;
    }
    if (Math.abs(held.x - event.offsetX) > 3) held.moved = true;
    const by = ((held.x - event.offsetX) / width) * (held.view.to - held.view.from);
    setView({ from: held.view.from + by, to: held.view.to + by });
    setHover(null);
  };
  const onClick = (event: MouseEvent) => {
    const hit = find(event.offsetX, event.offsetY);
    const change = hit ? lanes[hit.side].track.change[hit.index] : null;
    setChosen(change === chosen ? null : change);
  };
  // The next thing of the chosen change (of any) to the right of the middle, and around again.
  const goToNext = () => {
    const middle = (view.from + view.to) / 2, span = view.to - view.from;
    const places: number[] = [];
    for (const side of ["a", "b"] as const) {
      const { track } = lanes[side];
      track.change.forEach((c, i) => {
        if (c == null || (chosen !== null && c !== chosen)) return;
        const centre = track.start_ms[i] + track.dur_ms[i] / 2;
        places.push(side === "b" && aligned ? centre - (viewB.from - view.from) : centre);
      });
    }
    if (places.length === 0) return;
    places.sort((p, q) => p - q);
    const next = places.find((p) => p > middle + span * 0.02) ?? places[0];
    const width_ms = Math.min(span, control.whole.to / 20);
    setView({ from: next - width_ms / 2, to: next + width_ms / 2 });
  };

  return (
    <div class="timeline" id="pair-view" data-from={view.from} data-to={view.to} data-from-b={viewB.from}>
      <div class="bar">
        <ZoomButtons control={control} all="Whole runs" />
        <button type="button" data-act="next" disabled={present.length === 0} onClick={goToNext}>Next change</button>
        <button type="button" data-act="align" aria-pressed={aligned} onClick={() => setAligned(!aligned)} title="B starts where A's left edge is matched; otherwise both show the same time">Align B to A</button>
        <span class="muted">A {ms(view.from)} to {ms(view.to)}</span>
      </div>
      {present.length > 0 && (
        <div class="bar chips">
          {present.slice(0, CHIPS).map((c) => (
            <button key={c.rank} type="button" class="chip" aria-pressed={chosen === c.rank} onClick={() => setChosen(chosen === c.rank ? null : c.rank)}>
              <i class={(c.delta_ms ?? 0) > 0 ? "slower" : "faster"} />{c.rank}. {cut(causeText(c), 40)} {signedMs(c.delta_ms)}
            </button>
          ))}
        </div>
      )}
      <div class="lanes" ref={box}>
        <canvas ref={strip} class="overview" onMouseDown={(e) => brushView(e, strip.current!, control)} role="img" aria-label="Overview of both runs: drag to choose a span of time" />
        <div class="lanes-scroll">
          <canvas ref={canvas} tabIndex={0} role="img" aria-label="Timelines of both runs" onMouseMove={onMove} onKeyDown={control.onKey}
            onMouseLeave={() => { setHover(null); drag.current = null; }}
            onMouseDown={(e) => { drag.current = { x: e.offsetX, view, moved: false }; }}
            onMouseUp={(e) => { const held = drag.current; drag.current = null; if (!held?.moved) onClick(e); }}
            onDblClick={(e) => zoom(0.4, e.offsetX / width)} />
        </div>
        {hover && <Tip hit={hover} lanes={lanes} names={timeline.names} width={width} of={(rank) => byRank.get(rank)} />}
      </div>
      <p class="note">
        {timeline.cut ? "Both runs go on behind what is drawn here. " : ""}
        {[timeline.a, timeline.b].some((t) => t.merged_below_ms != null) ? `Neighbours within ${us((timeline.a.merged_below_ms ?? timeline.b.merged_below_ms)! * 1e3)} are drawn as one. ` : ""}
        Drag to move, Ctrl and the wheel or W and S to zoom, drag over the overview to choose, click a change to see only it.
      </p>
    </div>
  );
}

interface TipProps { hit: Hit; lanes: Record<SideName, Lane>; names: string[]; width: number; of: (rank: number) => Comparison["contributions"][number] | undefined }
function Tip({ hit, lanes, names, width, of }: TipProps) {
  const track = lanes[hit.side].track;
  const other = lanes[hit.side === "a" ? "b" : "a"].track;
  const partner = track.partner[hit.index];
  const change = track.change[hit.index] != null ? of(track.change[hit.index]!) : undefined;
  const mine = track.dur_ms[hit.index];
  const theirs = partner != null ? other.dur_ms[partner] : null;
  const delta = theirs == null ? null : hit.side === "a" ? theirs - mine : mine - theirs;
  return (
    <div class="tip" style={{ left: `${Math.min(hit.x + 14, Math.max(0, width - 320))}px`, top: `${hit.y + 2 * STRIP + 24}px` }}>
      <b>{cut(names[track.name[hit.index]] ?? "", 200)}</b>
      <span>{hit.side.toUpperCase()}: {ms(mine)} from {ms(track.start_ms[hit.index])}</span>
      {track.count[hit.index] > 1 && <span>{count(track.count[hit.index])} drawn as one; the name is the longest one’s</span>}
      {partner != null
        ? <span>{hit.side === "a" ? "B" : "A"}: {names[other.name[partner]] === names[track.name[hit.index]] ? "the same" : cut(names[other.name[partner]] ?? "", 120)}, {ms(theirs)} ({signedMs(delta)})</span>
        : <span class="muted">no partner in {hit.side === "a" ? "B" : "A"}</span>}
      {change && <span>{change.rank}. <b>{cut(causeText(change), 80)}</b> {signedMs(change.delta_ms)} in all</span>}
    </div>
  );
}
