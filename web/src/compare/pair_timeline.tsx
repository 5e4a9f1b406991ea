// SPDX-License-Identifier: Apache-2.0
// Both runs in time, A above B, each item joined to its partner. An item that belongs to a change has its colour.
import { useEffect, useMemo, useState } from "preact/hooks";
import type { CompareDocument, CompareTimeline, Contribution } from "../data/replies";
import { AXIS_PX, drawAxis } from "../timeline/axis";
import { HOW_TO_MOVE, TimelineFrame, useFrame } from "../timeline/frame";
import type { View } from "../timeline/view";
import { ZoomButtons } from "../timeline/view_control";
import { prepareCanvas } from "../widgets/canvas";
import { cut, ms } from "../widgets/format";
import { color, useTheme } from "../widgets/theme";
import { causeText } from "./contribution_text";
import { kindOf, signedMs } from "./delta";
import { themeDeltaScale } from "./delta_colors";
import type { Paint, PairHit } from "./pair_draw";
import { drawBands, drawPairLane, drawStrip, STRIP_PX } from "./pair_draw";
import type { PairLane, Side } from "./pair_lanes";
import { alignTracks, changesIn, changeTimes, itemAt, nextTime, ROW_PX, SIDES, stackTrack } from "./pair_lanes";
import { PairTip } from "./pair_tip";
import "./pair_timeline.css";

const HEAD_PX = 20;
const BANDS_PX = 62;
const CHIPS = 8;
const SHORTEST_VIEW_MS = 2e-5;

interface Places {
  top: Record<Side, number>;
  bottom: Record<Side, number>;
  height: number;
}

function placesOf(lanes: Record<Side, PairLane>): Places {
  const topA = AXIS_PX + HEAD_PX;
  const bottomA = topA + lanes.a.rows * ROW_PX;
  const topB = bottomA + BANDS_PX;
  const bottomB = topB + lanes.b.rows * ROW_PX;
  return { top: { a: topA, b: topB }, bottom: { a: bottomA, b: bottomB }, height: bottomB + HEAD_PX + AXIS_PX };
}

// The larger a change, the stronger its colour.
function paintOf(contributions: Contribution[], chosen: number | null): Paint {
  const sizes = contributions.filter((c) => c.cause !== "noise").map((c) => Math.abs(c.delta_ms ?? 0));
  const largest = Math.max(1e-12, ...sizes);
  const shade = themeDeltaScale();
  const unchanged = color("--span-same");
  const fills = new Map<number, string>();
  for (const c of contributions) {
    const delta = c.delta_ms ?? 0;
    fills.set(c.rank, shade(Math.sign(delta) * (0.35 + 0.65 * Math.sqrt(Math.abs(delta) / largest))));
  }
  return {
    fill: (change) => (change === null ? unchanged : (fills.get(change) ?? unchanged)),
    isFaded: (change) => chosen !== null && change !== chosen,
    ink: color("--on-span"),
  };
}

const inMicroseconds = (view: View): View => ({ from: view.from * 1e3, to: view.to * 1e3 });

interface Drawing {
  lanes: Record<Side, PairLane>;
  views: Record<Side, View>;
  places: Places;
  width: number;
  names: string[];
  titles: Record<Side, string>;
}

function drawPair(context: CanvasRenderingContext2D, d: Drawing, paint: Paint, hover: PairHit | null): void {
  const { lanes, views, width, places } = d;
  const { top, bottom, height } = places;
  drawAxis(context, inMicroseconds(views.a), width, AXIS_PX / 2, AXIS_PX - 4, bottom.a);
  drawAxis(context, inMicroseconds(views.b), width, height - AXIS_PX / 2, top.b, height - AXIS_PX + 4);
  const frame = { ...lanes, viewA: views.a, viewB: views.b, width, top: bottom.a - 3, bottom: top.b };
  drawBands(context, frame, paint, hover);
  for (const side of SIDES) drawPairLane(context, lanes[side], d.names, views[side], width, top[side], paint);
  context.fillStyle = color("--text");
  context.font = "600 12px system-ui, sans-serif";
  context.fillText(`A  ${cut(d.titles.a, 80)}`, 2, AXIS_PX + HEAD_PX / 2);
  context.fillText(`B  ${cut(d.titles.b, 80)}`, 2, bottom.b + HEAD_PX / 2 - 1);
}

interface ChipsProps {
  changes: Contribution[];
  chosen: number | null;
  onChoose: (rank: number | null) => void;
}

function Chips({ changes, chosen, onChoose }: ChipsProps) {
  return (
    <div class="bar chips">
      {changes.slice(0, CHIPS).map((c) => (
        <button
          key={c.rank}
          type="button"
          class="chip"
          aria-pressed={chosen === c.rank}
          onClick={() => onChoose(chosen === c.rank ? null : c.rank)}
        >
          <i class={kindOf(c.delta_ms)} />
          {c.rank}. {cut(causeText(c), 40)} {signedMs(c.delta_ms)}
        </button>
      ))}
    </div>
  );
}

function Note({ timeline: { cut: isCut, a, b } }: { timeline: CompareTimeline }) {
  const merged = a.merged_below_ms ?? b.merged_below_ms;
  return (
    <p class="note">
      {isCut && "Both runs continue after the part shown here. "}
      {merged !== null && `Neighbours within ${ms(merged)} are merged. `}
      {HOW_TO_MOVE} Click a change to see only that change.
    </p>
  );
}

interface Props {
  comparison: CompareDocument;
  names: Record<Side, string>;
}

export function PairTimeline({ comparison, names: titles }: Props) {
  const { timeline, contributions } = comparison;
  const lanes = useMemo(() => ({ a: stackTrack(timeline.a), b: stackTrack(timeline.b) }), [timeline]);
  const toB = useMemo(() => alignTracks(timeline.a, timeline.b), [timeline]);
  const places = useMemo(() => placesOf(lanes), [lanes]);
  const byRank = useMemo(() => new Map(contributions.map((c) => [c.rank, c])), [contributions]);
  const present = useMemo(() => {
    const seen = changesIn([timeline.a, timeline.b]);
    return contributions.filter((c) => seen.has(c.rank));
  }, [timeline, contributions]);

  const theme = useTheme();
  const [isAligned, setAligned] = useState(true);
  const [chosen, setChosen] = useState<number | null>(null);
  const [hover, setHover] = useState<(PairHit & { x: number; y: number }) | null>(null);
  const frame = useFrame(Math.max(lanes.a.end, lanes.b.end), SHORTEST_VIEW_MS, () => setChosen(null));
  const { canvas, overview, width, control } = frame;
  const { view, whole, setView } = control;

  const views = useMemo(() => {
    const from = isAligned ? toB(view.from) : view.from;
    return { a: view, b: { from, to: from + view.to - view.from } };
  }, [view, isAligned, toB]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the theme decides what color() returns
  useEffect(() => {
    const context = canvas.current && width > 0 ? prepareCanvas(canvas.current, width, places.height) : null;
    if (!context || !overview.current) return;
    const paint = paintOf(contributions, chosen);
    drawPair(context, { lanes, views, places, width, names: timeline.names, titles }, paint, hover);
    const both = SIDES.map((side) => ({ lane: lanes[side], view: views[side] }));
    drawStrip(overview.current, width, both, whole.to, paint);
  }, [timeline, contributions, lanes, places, titles, views, whole, width, chosen, hover, theme]);

  const find = ({ offsetX: x, offsetY: y }: MouseEvent) => {
    const side = SIDES.find((s) => y >= places.top[s] && y < places.bottom[s]);
    if (!side) return null;
    const index = itemAt(lanes[side], views[side], width, x, Math.floor((y - places.top[side]) / ROW_PX));
    return index === null ? null : { x, y, side, index };
  };
  const onClick = (event: MouseEvent) => {
    const hit = find(event);
    const change = hit && timeline[hit.side].change[hit.index];
    setChosen(change === chosen ? null : change);
  };
  const goToNext = () => {
    const shift = views.b.from - views.a.from;
    const times = [...changeTimes(timeline.a, chosen), ...changeTimes(timeline.b, chosen).map((t) => t - shift)];
    const next = nextTime(times, view);
    if (next === null) return;
    const span = Math.min(view.to - view.from, whole.to / 20);
    setView({ from: next - span / 2, to: next + span / 2 });
  };

  return (
    <div class="timeline" id="pair-view" data-from={view.from} data-to={view.to} data-from-b={views.b.from}>
      <div class="bar">
        <ZoomButtons control={control} all="Whole runs" />
        <button type="button" data-act="next" disabled={present.length === 0} onClick={goToNext}>
          Next change
        </button>
        <button
          type="button"
          data-act="align"
          aria-pressed={isAligned}
          onClick={() => setAligned(!isAligned)}
          title="On: B starts at the item that matches A's left edge. Off: both show the same time range."
        >
          Align B to A
        </button>
        <span class="muted">
          A {ms(view.from)} to {ms(view.to)}
        </span>
      </div>
      {present.length > 0 && <Chips changes={present} chosen={chosen} onChoose={setChosen} />}
      <TimelineFrame
        frame={frame}
        labels={{ overview: "Overview of both runs: drag to select a time range", lanes: "Timelines of both runs" }}
        onHover={(event) => setHover(event && find(event))}
        onClick={onClick}
      >
        {hover && (
          <PairTip
            hit={{ ...hover, y: hover.y + 2 * STRIP_PX + 8 }}
            timeline={timeline}
            room={width}
            contributions={byRank}
          />
        )}
      </TimelineFrame>
      <Note timeline={timeline} />
    </div>
  );
}
