// SPDX-License-Identifier: Apache-2.0
// The picture of a window: every lane in sight, from the tiles that are there.
import type { TimelineStackBox } from "../../data/generated";
import type { TileRow } from "../../data/tile";
import { BUSY_STEPS } from "../../data/tile";
import { drawLabel } from "../../widgets/canvas";
import { color } from "../../widgets/theme";
import type { Flow } from "./events";
import { lastUpTo } from "./hit";
import type { PlacedLane } from "./lane_tree";
import { DEPTH_PX, isLine } from "./lane_tree";
import type { LineScale } from "./lines";
import { lineText, scaleOfLine } from "./lines";
import type { TileKey } from "./tile_grid";
import { standIn, tileEnd, tileStart } from "./tile_grid";
import type { DrawnTile, TileStore } from "./tile_store";

export interface Scene {
  from_ns: number;
  to_ns: number;
  width: number;
  height: number; // of what is in sight
  scroll: number; // px above that
  placed: PlacedLane[];
  keys: TileKey[];
  find: string; // names without it are faded
  chosen: { table: string; id: number } | null;
  box: TimelineStackBox | null; // of stacks, that is chosen
}

export interface Colors {
  hues: string[];
  ink: string;
  faded: string;
  line: string;
  accent: string;
  muted: string;
}

export function readColors(): Colors {
  return {
    hues: Array.from({ length: 10 }, (_, i) => color(`--hue-${i}`)),
    ink: color("--on-span"),
    faded: color("--idle-5"),
    line: color("--grid"),
    accent: color("--accent"),
    muted: color("--muted"),
  };
}

const LABEL_FROM_PX = 30;
const LEAST_BUSY = 0.25; // of the height, so that a rare event is seen

interface Pen {
  context: CanvasRenderingContext2D;
  scene: Scene;
  colors: Colors;
  x: (ns: number) => number;
  fills: string[]; // by name
}

function outline({ context, colors }: Pen, left: number, top: number, width: number): void {
  context.strokeStyle = colors.accent;
  context.lineWidth = 2;
  context.strokeRect(left, top, width, DEPTH_PX - 1);
}

function drawSpans(pen: Pen, drawn: DrawnTile, lane: PlacedLane, from_ns: number, to_ns: number): void {
  for (const row of drawn.rowsOf.get(lane.lane.id) ?? []) {
    const top = lane.top + row.depth * DEPTH_PX - pen.scene.scroll;
    if (top + DEPTH_PX > 0 && top < pen.scene.height) drawRow(pen, drawn, row, top, lane, from_ns, to_ns);
  }
}

function drawRow(
  pen: Pen,
  drawn: DrawnTile,
  row: TileRow,
  top: number,
  lane: PlacedLane,
  from_ns: number,
  to_ns: number,
): void {
  const { context, scene, colors, x, fills } = pen;
  const { names, tables } = drawn.tile;
  // Boxes of stacks are outlined by their times: their ids are those of their first samples.
  const chosen = lane.lane.kind === "stacks" ? null : scene.chosen;
  const last = lastUpTo(row.start, to_ns);
  const first = Math.max(0, lastUpTo(row.start, from_ns));
  let painted = -10; // the last column of pixels that has something
  for (let i = first; i <= last; ++i) {
    // Whole pixels: software rendering is several times faster with them.
    const left = Math.round(Math.max(-2, x(row.start[i])));
    const right = Math.round(Math.min(scene.width + 2, x(row.start[i] + row.dur[i])));
    if (right < 0) continue;
    const width = Math.max(1, right - left);
    const isChosen = chosen?.id === row.id[i];
    if (width === 1 && left <= painted && !isChosen) continue;
    painted = left + width - 1;
    const name = row.name[i];
    context.fillStyle = fills[name];
    context.fillRect(left, top, width > 3 ? width - 1 : width, DEPTH_PX - 1);
    if (width > LABEL_FROM_PX) {
      context.fillStyle = colors.ink;
      drawLabel(context, names[name], left, top + DEPTH_PX / 2, width);
    }
    if (isChosen && tables[name] === chosen?.table) outline(pen, left, top, width);
  }
}

function drawBuckets(pen: Pen, drawn: DrawnTile, lane: PlacedLane, from_ns: number, to_ns: number): void {
  const { context, scene, x, fills } = pen;
  const { bucket_ns } = drawn.tile;
  for (const row of drawn.rowsOf.get(lane.lane.id) ?? []) {
    const bottom = lane.top + (row.depth + 1) * DEPTH_PX - 1 - scene.scroll;
    if (bottom < 0 || bottom > scene.height + DEPTH_PX) continue;
    const last = lastUpTo(row.bucket, to_ns / bucket_ns);
    const paint = (i: number, left: number, width: number) => {
      const height = Math.round((DEPTH_PX - 1) * (LEAST_BUSY + (1 - LEAST_BUSY) * (row.busy[i] / BUSY_STEPS)));
      context.fillStyle = fills[row.top[i]];
      context.fillRect(left, bottom - height, width, height);
    };
    // Of the buckets in one column of pixels the busiest is painted.
    let [held, column, wide] = [-1, -10, 1];
    for (let i = Math.max(0, lastUpTo(row.bucket, from_ns / bucket_ns)); i <= last; ++i) {
      const left = Math.floor(x(row.bucket[i] * bucket_ns));
      if (left !== column && held >= 0) paint(held, column, wide);
      if (left !== column || row.busy[i] > row.busy[held]) held = i;
      column = left;
      wide = Math.max(1, Math.floor(x((row.bucket[i] + 1) * bucket_ns)) - left);
    }
    if (held >= 0) paint(held, column, wide);
  }
}

const seriesOf = (drawn: DrawnTile, lane: PlacedLane) => drawn.tile.series.find((s) => s.lane === lane.lane.id);

// The scales of the lines in sight, by lane.
function lineScales(lanes: PlacedLane[], tiles: DrawnTile[]): Map<number, LineScale> {
  const out = new Map<number, LineScale>();
  for (const lane of lanes) {
    if (!isLine(lane.lane)) continue;
    const scale = scaleOfLine(tiles.flatMap((t) => seriesOf(t, lane) ?? []));
    if (scale) out.set(lane.lane.id, scale);
  }
  return out;
}

// The ends of a scale, at the left edge over the line.
function drawScales(context: CanvasRenderingContext2D, scene: Scene, scales: Map<number, LineScale>): void {
  context.fillStyle = color("--muted");
  context.strokeStyle = color("--card"); // a rim, where the line passes below
  context.lineWidth = 3;
  const write = (text: string, y: number) => {
    context.strokeText(text, 4, y);
    context.fillText(text, 4, y);
  };
  for (const lane of scene.placed) {
    const scale = scales.get(lane.lane.id);
    if (!scale) continue;
    const top = lane.top - scene.scroll;
    write(lineText(lane.lane, scale.most), top + 8);
    if (scale.most > scale.least) write(lineText(lane.lane, scale.least), top + lane.height - 10);
  }
}

function drawLine(pen: Pen, drawn: DrawnTile, lane: PlacedLane, { least, most }: LineScale): void {
  const { context, scene, colors, x } = pen;
  const series = seriesOf(drawn, lane);
  if (!series || series.at.length === 0) return;
  const room = lane.height - 10;
  const bottom = lane.top + lane.height - 5 - scene.scroll;
  const y = (v: number) => bottom - ((v - least) / (most - least || 1)) * room;
  context.strokeStyle = colors.accent;
  context.lineWidth = 1;
  context.beginPath();
  for (let i = 0; i < series.at.length; ++i) {
    const at = x(series.at[i]);
    const next = i + 1 < series.at.length ? x(series.at[i + 1]) : at;
    // From the value that held until now to those of this point.
    const before = i > 0 ? series.last[i - 1] : series.min[i];
    context.moveTo(at, y(Math.min(before, series.min[i])));
    context.lineTo(at, y(Math.max(before, series.max[i])));
    context.moveTo(at, y(series.last[i]));
    context.lineTo(next, y(series.last[i]));
  }
  context.stroke();
}

function outlineBox(pen: Pen): void {
  const { box, placed, scroll, width } = pen.scene;
  const lane = box && placed.find((p) => p.lane.id === box.lane);
  if (!box || !lane) return;
  const left = Math.max(-2, pen.x(box.start_ns));
  const right = Math.min(width + 2, pen.x(box.start_ns + box.dur_ns));
  if (right >= 0 && left <= width)
    outline(pen, left, lane.top + box.depth * DEPTH_PX - scroll, Math.max(1, right - left));
}

// Draws the lanes and returns whether every tile was there. Each store has the tiles of other lanes.
export function drawScene(
  context: CanvasRenderingContext2D,
  scene: Scene,
  stores: TileStore[],
  colors: Colors,
): boolean {
  const scale = scene.width / (scene.to_ns - scene.from_ns);
  const x = (ns: number) => (ns - scene.from_ns) * scale;
  const inSight = scene.placed.filter((p) => p.top + p.height > scene.scroll && p.top < scene.scroll + scene.height);
  context.font = "11px system-ui, sans-serif";
  context.fillStyle = colors.line;
  for (const p of inSight) context.fillRect(0, p.top + p.height - scene.scroll - 1, scene.width, 1);
  const wanted = scene.find.toLowerCase();
  let isWhole = true;
  const there = stores.flatMap((tiles) =>
    scene.keys.flatMap((key) => {
      const found = standIn(key, tiles.has);
      if (!found || found.level !== key.level) isWhole = false;
      const drawn = found && tiles.get(found);
      return drawn ? [{ key, drawn }] : [];
    }),
  );
  const scales = lineScales(
    inSight,
    there.map((t) => t.drawn),
  );
  for (const { key, drawn } of there) {
    const from_ns = Math.max(scene.from_ns, tileStart(key));
    const to_ns = Math.min(scene.to_ns, tileEnd(key));
    const fills = Array.from(drawn.hues, (hue, i) =>
      wanted && !drawn.tile.names[i].toLowerCase().includes(wanted) ? colors.faded : colors.hues[hue],
    );
    const pen: Pen = { context, scene, colors, x, fills };
    context.save();
    context.beginPath();
    // Whole pixels, or a thin line shows where two tiles meet.
    const [left, right] = [Math.round(x(from_ns)), Math.round(x(to_ns))];
    context.rect(left, 0, right - left, scene.height);
    context.clip();
    for (const lane of inSight) {
      drawBuckets(pen, drawn, lane, from_ns, to_ns);
      drawSpans(pen, drawn, lane, from_ns, to_ns);
      const scale = scales.get(lane.lane.id);
      if (scale) drawLine(pen, drawn, lane, scale);
    }
    context.restore();
  }
  outlineBox({ context, scene, colors, x, fills: [] });
  drawScales(context, scene, scales);
  return isWhole;
}

// Lines from what launched the chosen event to it, and on to what it launched.
export function drawFlows(context: CanvasRenderingContext2D, scene: Scene, flows: Flow[], colors: Colors): void {
  const scale = scene.width / (scene.to_ns - scene.from_ns);
  const middle = (lane: number): number | null => {
    const place = scene.placed.find((p) => p.lane.id === lane);
    return place ? place.top + place.height / 2 - scene.scroll : null;
  };
  context.strokeStyle = colors.accent;
  context.lineWidth = 1.5;
  for (const { from, to } of flows) {
    const [y0, y1] = [middle(from.lane), middle(to.lane)];
    if (y0 === null || y1 === null) continue;
    const [x0, x1] = [from, to].map((end) => (end.at_ns - scene.from_ns) * scale);
    context.beginPath();
    context.moveTo(x0, y0);
    context.bezierCurveTo((x0 + x1) / 2, y0, (x0 + x1) / 2, y1, x1, y1);
    context.stroke();
  }
}
