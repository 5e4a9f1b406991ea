// SPDX-License-Identifier: Apache-2.0
// The timeline: lanes to the left, a canvas for the window to the right. What is shown is in the address.
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { TimelineLane, TimelineLanesReply } from "../../data/generated";
import { drawAxis } from "../../timeline/axis";
import { timeAt } from "../../timeline/view";
import type { ViewControl } from "../../timeline/view_control";
import { useView, ZoomButtons } from "../../timeline/view_control";
import { prepareCanvas, useWidth } from "../../widgets/canvas";
import { count, cut, ms } from "../../widgets/format";
import { color, useTheme } from "../../widgets/theme";
import { Tip } from "../../widgets/tip";
import { bindKeys } from "../keys";
import { changeFields, useField } from "../navigation";
import { NotesPanel, useNotes } from "../notes/notes_panel";
import { useLoad } from "../session";
import { drawFlows, drawScene, readColors } from "./draw";
import { EventPanel } from "./event_panel";
import type { EventPlace } from "./events";
import { eventField, flowsOf, isAnalysed, parseEvent, readAnalysis, readEvent } from "./events";
import { FindBar } from "./find_bar";
import { FindPanel } from "./find_panel";
import type { Hit } from "./hit";
import { hitAt, laneAt } from "./hit";
import { LaneLabels } from "./lane_labels";
import type { Place } from "./lane_order";
import { movedOrder } from "./lane_order";
import type { PlacedLane } from "./lane_tree";
import { isClosedAtFirst, laneFilter, placeLanes, totalHeight } from "./lane_tree";
import { valueAt, valueText } from "./lines";
import { standIn, tilesFor } from "./tile_grid";
import { TileStore } from "./tile_store";
import { usePointer } from "./use_pointer";
import { WindowPanel } from "./window_panel";
import "./timeline.css";

const LEAST_NS = 20;
const AXIS_PX = 22;
const ADDRESS_MS = 250;
const AROUND_EVENT = 2; // times its duration to both sides

const numbers = (text: string): Set<number> => new Set(text.split(",").filter(Boolean).map(Number));
const toggled = (set: Set<number>, value: number): number[] => {
  const next = new Set(set);
  if (!next.delete(value)) next.add(value);
  return [...next];
};
const pairOf = (text: string): [number, number] | null => {
  const [a, b] = text.split(",").map(Number);
  return text && Number.isFinite(a) && Number.isFinite(b) ? [Math.min(a, b), Math.max(a, b)] : null;
};

// The window is kept in the address as ms; an address that changes moves the window.
function useAddress({ view, whole, setView }: ViewControl, first_ns: number): void {
  const [from] = useField("from");
  const [to] = useField("to");
  const written = useRef("");
  useEffect(() => {
    if (`${from},${to}` === written.current || !to) return;
    setView({ from: Number(from) * 1e6 - first_ns, to: Number(to) * 1e6 - first_ns });
  }, [from, to, first_ns, setView]);
  useEffect(() => {
    const timer = setTimeout(() => {
      const isWhole = view.from === whole.from && view.to === whole.to;
      const text = (at: number) => (isWhole ? "" : String(Number(((at + first_ns) / 1e6).toFixed(6))));
      written.current = `${text(view.from)},${text(view.to)}`;
      changeFields({ from: text(view.from) || null, to: text(view.to) || null }, true);
    }, ADDRESS_MS);
    return () => clearTimeout(timer);
  }, [view, whole, first_ns]);
}

function hitText(hit: Hit): string {
  if (hit.id === null)
    return `${count(hit.count)} short events, the longest ${ms(hit.dur_ns / 1e6)}; most time in this name`;
  if (hit.table === "cpu_sample" && hit.depth === null) return `CPU sample at ${ms(hit.start_ns / 1e6)}`;
  return `${ms(hit.dur_ns / 1e6)}, starts at ${ms(hit.start_ns / 1e6)}`;
}

interface Hover {
  x: number;
  y: number;
  hit: Hit | null;
  line: { name: string; value: string } | null; // of a counter or of memory
  at_ns: number;
}

export function TimelineView({
  run,
  lanes,
  isPartial,
}: {
  run: string;
  lanes: TimelineLanesReply;
  isPartial: boolean;
}) {
  const { first_ns, last_ns } = lanes;
  const [closedText, setClosed] = useField("closed");
  const [openedText, setOpened] = useField("open");
  const [pinnedText, setPinned] = useField("pin");
  const [order, setOrder] = useField("order");
  const [filter, setFilter] = useField("lanes", "", true);
  const [eventText, setEvent] = useField("event");
  const [areaText, setArea] = useField("area");
  const [cursorText, setCursors] = useField("cursors");
  const [find] = useField("find", "", true);
  const [matches, setMatches] = useField("matches");
  const control = useView(last_ns - first_ns, LEAST_NS, () => changeFields({ area: null, cursors: null, event: null }));
  const { view, setView } = control;
  useAddress(control, first_ns);
  const [box, width] = useWidth();
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const axis = useRef<HTMLCanvasElement>(null);
  const [scroll, setScroll] = useState(0);
  const [shownHeight, setShownHeight] = useState(400);
  const [hover, setHover] = useState<Hover | null>(null);
  const [loads, setLoads] = useState(0);
  const theme = useTheme();
  const closed = useMemo(() => numbers(closedText), [closedText]);
  const opened = useMemo(() => numbers(openedText), [openedText]);
  const pinned = useMemo(() => numbers(pinnedText), [pinnedText]);
  const chosen = useMemo(() => parseEvent(eventText), [eventText]);
  const event = useLoad(`event ${run} ${eventText}`, async (signal) =>
    chosen ? readEvent(run, chosen, signal) : null,
  );
  // Analysing a large run takes a while: the rest of the event is shown before.
  const analysis = useLoad(`event analysis ${run} ${eventText}`, async (signal) =>
    isAnalysed(chosen) ? readAnalysis(run, chosen, signal) : null,
  );
  const [eventNow] = event;
  const [analysisNow] = analysis;
  const chain = useMemo(() => {
    const whole = analysisNow.state === "loaded" ? analysisNow.reply : null; // also the peers of a collective
    return (whole ?? (eventNow.state === "loaded" ? eventNow.reply : null))?.chain ?? [];
  }, [eventNow, analysisNow]);
  const stackBox = (eventNow.state === "loaded" && eventNow.reply?.stack?.box) || null;
  const area = pairOf(areaText);
  const notes = useNotes(run, !isPartial);
  const [notesNow] = notes;
  const noted = useMemo(
    () =>
      (notesNow.state === "loaded" ? notesNow.reply.notes : []).flatMap((n): [number, number][] =>
        n.from_ns === null || n.to_ns === null ? [] : [[n.from_ns, n.to_ns]],
      ),
    [notesNow],
  );
  const cursors = cursorText.split(",").filter(Boolean).map(Number);
  const placed = useMemo(
    () => placeLanes(lanes.lanes, { closed, opened, pinned, order, filter: laneFilter(filter) }),
    [lanes, closed, opened, pinned, order, filter],
  );
  const height = totalHeight(placed);
  const tiles = useMemo(
    () => new TileStore(run, first_ns, last_ns, () => setLoads((n) => n + 1)),
    [run, first_ns, last_ns],
  );
  useEffect(() => () => tiles.close(), [tiles]);
  // Stacks are asked for when they are shown.
  const stackLanes = placed.flatMap(({ lane }) => (lane.kind === "stacks" ? [lane.id] : [])).join(",");
  const stacks = useMemo(
    () =>
      stackLanes ? new TileStore(run, first_ns, last_ns, () => setLoads((n) => n + 1), [...numbers(stackLanes)]) : null,
    [run, first_ns, last_ns, stackLanes],
  );
  useEffect(() => () => stacks?.close(), [stacks]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the theme decides what readColors() returns
  const colors = useMemo(readColors, [theme]);
  const from_ns = view.from + first_ns;
  const to_ns = view.to + first_ns;

  useEffect(() => {
    const element = scroller.current;
    if (!element) return undefined;
    const observer = new ResizeObserver(() => setShownHeight(element.clientHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  // An address that names an event and no window shows the event.
  const clicked = useRef(""); // an event that was clicked is in sight already
  const goToEvent = useCallback(
    (place: { start_ns: number; dur_ns: number }) => {
      const around = Math.max(place.dur_ns, 100) * AROUND_EVENT;
      setView({ from: place.start_ns - around - first_ns, to: place.start_ns + place.dur_ns + around - first_ns });
    },
    [setView, first_ns],
  );
  useEffect(() => {
    if (eventText === clicked.current || new URLSearchParams(location.search).has("to")) return;
    const event = chain.find((c) => c.role === "event");
    if (event) goToEvent(stackBox ?? { start_ns: event.start_ns, dur_ns: event.dur_ns ?? 0 });
  }, [chain, stackBox, eventText, goToEvent]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: `loads` counts the tiles that arrived
  useEffect(() => {
    const keys = tilesFor(from_ns, to_ns);
    tiles.want(keys);
    stacks?.want(keys);
    const frame = requestAnimationFrame(() => {
      const began = performance.now();
      const shown = Math.max(1, Math.min(height, shownHeight));
      const context = canvas.current && width > 0 ? prepareCanvas(canvas.current, width, shown) : null;
      if (!context || !canvas.current) return;
      const scene = { from_ns, to_ns, width, height: shown, scroll, placed, keys, find, chosen, box: stackBox };
      const isWhole = drawScene(context, scene, stacks ? [tiles, stacks] : [tiles], colors);
      drawHead(axis.current, { from_ns, to_ns, width, height: AXIS_PX }, noted);
      drawFlows(context, scene, flowsOf(chain), colors);
      drawMarks(context, { from_ns, to_ns, width, height: shown }, area, cursors);
      canvas.current.dataset.drawn = isWhole ? "whole" : "partly";
      canvas.current.dataset.frame = String(Number(canvas.current.dataset.frame ?? 0) + 1);
      canvas.current.dataset.ms = (performance.now() - began).toFixed(2);
    });
    return () => cancelAnimationFrame(frame);
  }, [
    from_ns,
    to_ns,
    width,
    height,
    shownHeight,
    scroll,
    placed,
    find,
    chosen,
    stackBox,
    tiles,
    stacks,
    colors,
    loads,
    areaText,
    cursorText,
    chain,
    noted,
  ]);

  const placeAt = (event: MouseEvent): Hover => {
    const y = event.offsetY + scroll;
    const at_ns = timeAt({ from: from_ns, to: to_ns }, event.offsetX, width);
    const key = tilesFor(from_ns, to_ns).find((k) => at_ns < (k.index + 1) * 2 ** k.level);
    const lane = laneAt(placed, y);
    const store = lane?.lane.kind === "stacks" ? stacks : tiles;
    const found = key && store && standIn(key, store.has);
    const drawn = found ? store.get(found) : undefined;
    const slack = (2 * (to_ns - from_ns)) / Math.max(1, width);
    const hit = drawn && lane ? hitAt(drawn, lane, y, at_ns, slack) : null;
    const series = drawn && lane && drawn.tile.series.find((s) => s.lane === lane.lane.id);
    const value = series && valueAt(series, at_ns);
    const line = value ? { name: lane.lane.name, value: valueText(lane.lane, value) } : null;
    return { x: event.offsetX, y: event.offsetY, hit, line, at_ns };
  };
  const pointer = usePointer(canvas, control, width, {
    onHover: (event) => setHover(event && placeAt(event)),
    onClick: (event) => {
      const { hit, at_ns } = placeAt(event);
      if (!hit) setEvent("");
      else if (hit.id !== null) {
        clicked.current = eventField({ table: hit.table, id: hit.id, depth: hit.depth });
        setEvent(clicked.current);
      } else {
        const near = (to_ns - from_ns) / 16;
        setView({ from: at_ns - near - first_ns, to: at_ns + near - first_ns });
      }
    },
    onArea: (left, right) => {
      const time = (x: number) => Math.round(timeAt({ from: from_ns, to: to_ns }, x, width));
      setArea(`${time(left)},${time(right)}`);
    },
  });
  const move = (lane: PlacedLane, beside: PlacedLane, place: Place) => {
    if (!lane.isPinned) return setOrder(movedOrder(lanes.lanes, order, lane.lane, beside.lane, place));
    const ids = [...pinned].filter((id) => id !== lane.lane.id);
    ids.splice(ids.indexOf(beside.lane.id) + (place === "after" ? 1 : 0), 0, lane.lane.id);
    return setPinned(ids.join(","));
  };
  const toggle = (lane: TimelineLane) => {
    const [among, set] = isClosedAtFirst(lane) ? [opened, setOpened] : [closed, setClosed];
    set(
      toggled(among, lane.id)
        .sort((a, b) => a - b)
        .join(","),
    );
  };
  const goToMatch = (place: EventPlace) => {
    goToEvent(place);
    setEvent(`${place.table}:${place.id}`);
  };
  const mark = () => {
    if (!hover) return;
    const at = Math.round(hover.at_ns);
    setCursors([...(cursors.length >= 2 ? [] : cursors), at].join(","));
  };
  const act = useRef({ mark, control });
  act.current = { mark, control };
  useEffect(() => {
    const zoom = (factor: number) => () => act.current.control.zoom(factor);
    const move = (part: number) => () => act.current.control.move(part);
    return bindKeys([
      { keys: "w", about: "Timeline: zoom in (also Ctrl and the wheel)", run: zoom(0.7) },
      { keys: "s", about: "Timeline: zoom out", run: zoom(1.4) },
      { keys: "a", about: "Timeline: move to the left (also drag)", run: move(-0.2) },
      { keys: "d", about: "Timeline: move to the right", run: move(0.2) },
      {
        keys: "0",
        about: "Timeline: show the whole run",
        run: () => act.current.control.setView(act.current.control.whole),
      },
      { keys: "m", about: "Timeline: set a cursor at the mouse; two measure a time", run: () => act.current.mark() },
      {
        keys: "Escape",
        about: "Timeline: clear selection and cursors",
        run: () => changeFields({ area: null, cursors: null, event: null }),
      },
    ]);
  }, []);

  const problem = tiles.problem ?? stacks?.problem;
  return (
    <>
      <div class="tl" id="timeline-view" data-from={from_ns} data-to={to_ns}>
        <div class="bar">
          <ZoomButtons control={control} all="Whole run" />
          <input
            type="search"
            placeholder="Lanes (pattern)"
            aria-label="Show lanes that match this pattern"
            value={filter}
            onInput={(e) => setFilter(e.currentTarget.value)}
          />
          <FindBar run={run} from_ns={from_ns} onGo={goToMatch} />
        </div>
        <div class="tl-head">
          <span>
            {count(lanes.events)} events, {ms((last_ns - first_ns) / 1e6)}
          </span>
          <div ref={box}>
            <canvas ref={axis} role="img" aria-label="Times" />
          </div>
        </div>
        <div class="tl-scroll" ref={scroller} onScroll={(e) => setScroll(e.currentTarget.scrollTop)}>
          <div class="tl-body" style={{ height: `${height}px` }}>
            <LaneLabels
              placed={placed}
              scroll={scroll}
              height={shownHeight}
              onClose={toggle}
              onPin={(id) => setPinned(toggled(pinned, id).join(","))}
              onMove={move}
            />
            <div>
              <div class="tl-canvas">
                <canvas
                  ref={canvas}
                  tabIndex={0}
                  role="img"
                  aria-label={`Timeline from ${ms(from_ns / 1e6)} to ${ms(to_ns / 1e6)}. W, A, S and D zoom and move.`}
                  {...pointer}
                />
                {hover?.hit && (
                  <Tip x={hover.x} y={hover.y} room={width} title={cut(hover.hit.name, 300)}>
                    <span>{hitText(hover.hit)}</span>
                    <span class="muted">{cut(hover.hit.lane.lane.name, 80)}</span>
                  </Tip>
                )}
                {hover?.line && (
                  <Tip x={hover.x} y={hover.y} room={width} title={hover.line.value}>
                    <span>at {ms(hover.at_ns / 1e6)}</span>
                    <span class="muted">{cut(hover.line.name, 80)}</span>
                  </Tip>
                )}
              </div>
            </div>
          </div>
        </div>
        <div class="tl-status" role="status">
          {problem ? <span class="lost">{cut(problem.detail, 200)}</span> : statusText(hover, cursors)}
        </div>
      </div>
      <div class="tl-side">
        {chosen && (
          <EventPanel
            run={run}
            chosen={chosen}
            from={event}
            analysis={analysis}
            lanes={lanes.lanes}
            onClose={() => setEvent("")}
          />
        )}
        {find && matches === "list" && (
          <FindPanel
            key={find}
            run={run}
            find={find}
            from_ns={from_ns}
            lanes={lanes.lanes}
            onGo={goToMatch}
            onClose={() => setMatches("")}
          />
        )}
        {area && area[1] > area[0] && (
          <WindowPanel run={run} from_ns={area[0]} to_ns={area[1]} onClose={() => setArea("")} />
        )}
        {!isPartial && <NotesPanel run={run} from={notes} subject={{ area, event: chosen }} />}
      </div>
    </>
  );
}

function statusText(hover: Hover | null, cursors: number[]): string {
  if (cursors.length === 2) return `Between the cursors: ${ms(Math.abs(cursors[1] - cursors[0]) / 1e6)}`;
  if (cursors.length === 1 && hover)
    return `From the cursor: ${ms((hover.at_ns - cursors[0]) / 1e6)}; M sets the second one`;
  if (hover) return `${ms(hover.at_ns / 1e6)}`;
  return "Drag moves, Ctrl and the wheel zoom, Shift and drag selects a window, M measures.";
}

interface Frame {
  from_ns: number;
  to_ns: number;
  width: number;
  height: number;
}

// The times, and below them a bar for each note about a time.
function drawHead(canvas: HTMLCanvasElement | null, frame: Frame, noted: [number, number][]): void {
  const context = canvas && prepareCanvas(canvas, frame.width, frame.height);
  if (!context) return;
  const times = { from: frame.from_ns / 1e3, to: frame.to_ns / 1e3 };
  drawAxis(context, times, frame.width, frame.height / 2, frame.height - 6, frame.height);
  const x = (ns: number) => ((ns - frame.from_ns) / (frame.to_ns - frame.from_ns)) * frame.width;
  context.fillStyle = color("--accent");
  for (const [from, to] of noted)
    if (x(to) >= 0 && x(from) <= frame.width)
      context.fillRect(x(from), frame.height - 4, Math.max(3, x(to) - x(from)), 3);
}

function drawMarks(
  context: CanvasRenderingContext2D,
  frame: Frame,
  area: [number, number] | null,
  cursors: number[],
): void {
  const x = (ns: number) => ((ns - frame.from_ns) / (frame.to_ns - frame.from_ns)) * frame.width;
  if (area) {
    context.fillStyle = color("--shade");
    context.fillRect(0, 0, x(area[0]), frame.height);
    context.fillRect(x(area[1]), 0, frame.width - x(area[1]), frame.height);
  }
  context.fillStyle = color("--accent");
  for (const at of cursors) context.fillRect(x(at), 0, 1.5, frame.height);
}
