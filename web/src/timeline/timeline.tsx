// SPDX-License-Identifier: Apache-2.0
// The run over time: streams above, threads below. A click on a span highlights every span with its name.
import { useEffect, useMemo, useState } from "preact/hooks";
import type { ReportLane, ReportTimeline } from "../data/replies";
import { prepareCanvas } from "../widgets/canvas";
import { count, cut, plural, us } from "../widgets/format";
import { color, useTheme } from "../widgets/theme";
import { Tip } from "../widgets/tip";
import { AXIS_PX, drawAxis } from "./axis";
import type { Coverage } from "./draw_lanes";
import { drawHead, drawLane, drawOverview, OVERVIEW_PX } from "./draw_lanes";
import { HOW_TO_MOVE, TimelineFrame, useFrame } from "./frame";
import type { SpanHit } from "./lanes";
import { coverage, headAt, LEVELS, placeLanes, spanAt, usedCategories } from "./lanes";
import { ZoomButtons } from "./view_control";

const FIRST_LANES = 24;
const SHORTEST_VIEW_US = 0.05;

interface Hover extends SpanHit {
  x: number;
  y: number;
}

function SpanTip({ hover, timeline, width }: { hover: Hover; timeline: ReportTimeline; width: number }) {
  const { lane, index } = hover;
  const merged = lane.count?.[index] ?? 1;
  return (
    <Tip x={hover.x} y={hover.y} room={width} title={cut(timeline.names[lane.name_id[index]], 300)}>
      <span>
        {categoryLabel(timeline.categories[lane.category[index]])}, {cut(lane.name, 80)}
      </span>
      <span>
        {us(lane.dur_us[index])}, starts at {us(lane.start_us[index])}
      </span>
      {merged > 1 && <span>{plural(merged, "span")} drawn as one, named after the longest</span>}
    </Tip>
  );
}

function Note({ timeline }: { timeline: ReportTimeline }) {
  const { events_total: total, events_drawn: drawn, merged_below_us: merged } = timeline;
  return (
    <p class="note">
      {merged === null
        ? `Shows all ${plural(total, "span")}. `
        : `${count(drawn)} shapes stand for ${plural(total, "span")}: neighbours within ${us(merged)} are merged. `}
      {HOW_TO_MOVE} Click a span to highlight every span with its name.
    </p>
  );
}

const CATEGORY_LABEL: Record<string, string> = {
  op: "operator",
  api: "API call",
  range: "labelled range",
  python: "Python",
};
const categoryLabel = (name: string): string => CATEGORY_LABEL[name] ?? name;

function Legend({ timeline }: { timeline: ReportTimeline }) {
  const used = useMemo(() => usedCategories(timeline), [timeline]);
  return (
    <span class="legend">
      {used.map((name) => (
        <span key={name}>
          <i style={{ background: `var(--cat-${name})` }} />
          {categoryLabel(name)}
        </span>
      ))}
    </span>
  );
}

// Adds or removes a lane; a new set, so that the page notices.
function toggled(lanes: Set<ReportLane>, lane: ReportLane): Set<ReportLane> {
  const next = new Set(lanes);
  if (!next.delete(lane)) next.add(lane);
  return next;
}

export function TimelineView({ timeline }: { timeline: ReportTimeline }) {
  const theme = useTheme();
  const [expanded, setExpanded] = useState<Set<ReportLane>>(new Set());
  const [all, setAll] = useState(false);
  const [hover, setHover] = useState<Hover | null>(null);
  const [marked, setMarked] = useState<number | null>(null);
  const frame = useFrame(timeline.wall_us, SHORTEST_VIEW_US, () => setMarked(null));
  const { canvas, overview, width, control } = frame;
  const { view } = control;

  const { placed, height } = useMemo(
    () => placeLanes(all ? timeline.lanes : timeline.lanes.slice(0, FIRST_LANES), expanded),
    [timeline, all, expanded],
  );
  const bars: Coverage = useMemo(
    () => ({ device: coverage(timeline, "device", width), host: coverage(timeline, "host", width) }),
    [timeline, width],
  );

  // biome-ignore lint/correctness/useExhaustiveDependencies: the theme decides what color() returns
  useEffect(() => {
    const context = canvas.current && width > 0 ? prepareCanvas(canvas.current, width, height) : null;
    if (!context || !overview.current) return;
    const fills = timeline.categories.map((c) => color(`--cat-${c}`));
    const style = { fills, ink: color("--on-span"), marked };
    drawAxis(context, view, width, AXIS_PX / 2, AXIS_PX - 4, height);
    for (const at of placed) {
      drawHead(context, at, width);
      drawLane(context, at, view, width, timeline.names, style);
    }
    drawOverview(overview.current, width, timeline, fills, view, bars);
  }, [timeline, width, height, view, placed, bars, marked, theme]);

  const onHover = (event: MouseEvent | null) => {
    if (!event) {
      setHover(null);
      return;
    }
    const { offsetX: x, offsetY: y } = event;
    const hit = spanAt(placed, view, width, x, y);
    setHover(hit && { ...hit, x, y });
  };
  const onClick = (event: MouseEvent) => {
    const head = headAt(placed, event.offsetY);
    if (head && head.depth_max + 1 > LEVELS) {
      setExpanded(toggled(expanded, head));
      return;
    }
    const hit = spanAt(placed, view, width, event.offsetX, event.offsetY);
    const name = hit?.lane.name_id[hit.index] ?? null;
    setMarked(name === marked ? null : name);
  };
  const scrolled = canvas.current?.parentElement?.scrollTop ?? 0;

  return (
    <div class="timeline" id="timeline-view" data-from={view.from} data-to={view.to}>
      <div class="bar">
        <ZoomButtons control={control} all="Whole run" />
        <span class="muted">
          {us(view.from)} to {us(view.to)}
        </span>
        <Legend timeline={timeline} />
      </div>
      <TimelineFrame
        frame={frame}
        labels={{ overview: "Overview: drag to select a time range", lanes: "Timeline of the run" }}
        onHover={onHover}
        onClick={onClick}
      >
        {hover && (
          <SpanTip hover={{ ...hover, y: hover.y + OVERVIEW_PX + 4 - scrolled }} timeline={timeline} width={width} />
        )}
      </TimelineFrame>
      {timeline.lanes.length > FIRST_LANES && (
        <button type="button" class="more" onClick={() => setAll(!all)}>
          {all ? `Show the first ${FIRST_LANES} lanes` : `Show all ${timeline.lanes.length} lanes`}
        </button>
      )}
      <Note timeline={timeline} />
    </div>
  );
}
