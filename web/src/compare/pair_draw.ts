// SPDX-License-Identifier: Apache-2.0
// Draws both runs in time: their items, the bands between partners, and the overview.
import type { View } from "../timeline/view";
import { drawLabel, prepareCanvas } from "../widgets/canvas";
import { color } from "../widgets/theme";
import type { PairLane, Side } from "./pair_lanes";
import { MAX_ROWS, ROW_PX } from "./pair_lanes";

export const STRIP_PX = 15;
const LABEL_FROM_PX = 30;
const MAX_BANDS = 3000;
const UNCHANGED_BANDS = 80; // when there are too many to draw all

export interface Paint {
  fill: (change: number | null) => string;
  isFaded: (change: number | null) => boolean;
  ink: string;
}

export interface PairHit {
  side: Side;
  index: number;
}

interface ItemBox {
  i: number;
  x: number;
  y: number;
  width: number;
}

// The items that are changed, or those that are not, as far as they can be seen: an item hidden by the one before it
// costs nothing.
function visibleBoxes({ track, row }: PairLane, isChanged: boolean, view: View, width: number, top: number): ItemBox[] {
  const scale = width / (view.to - view.from);
  const least = isChanged ? 1.2 : 0.6;
  const drawnTo = new Float64Array(MAX_ROWS).fill(-1); // right edge per row
  const out: ItemBox[] = [];
  for (let i = 0; i < row.length; ++i) {
    if ((track.change[i] !== null) !== isChanged) continue;
    const start = track.start_ms[i];
    const end = start + track.dur_ms[i];
    if (end < view.from || start > view.to) continue;
    const x = Math.max(0, (start - view.from) * scale);
    const right = Math.min(width, Math.max(x + least, (end - view.from) * scale));
    if (right <= drawnTo[row[i]] + 0.3) continue;
    drawnTo[row[i]] = right;
    out.push({ i, x, y: top + row[i] * ROW_PX, width: right - x });
  }
  return out;
}

export function drawPairLane(
  context: CanvasRenderingContext2D,
  lane: PairLane,
  names: string[],
  view: View,
  width: number,
  top: number,
  paint: Paint,
): void {
  const { track } = lane;
  // Changed items are drawn over the rest.
  const boxes = [false, true].flatMap((isChanged) => visibleBoxes(lane, isChanged, view, width, top));
  for (const box of boxes) {
    const change = track.change[box.i];
    context.globalAlpha = paint.isFaded(change) ? 0.2 : 1;
    context.fillStyle = paint.fill(change);
    const gap = box.width > 3 ? 1 : 0;
    context.fillRect(box.x, box.y, Math.max(0.6, box.width - gap), ROW_PX - 3);
  }
  context.globalAlpha = 1;
  context.font = "11px system-ui, sans-serif";
  context.fillStyle = paint.ink;
  for (const { i, x, y, width: room } of boxes)
    if (room > LABEL_FROM_PX) drawLabel(context, names[track.name[i]] ?? "", x, y + ROW_PX / 2 - 1, room);
}

export interface PairFrame {
  a: PairLane;
  b: PairLane;
  viewA: View;
  viewB: View;
  width: number;
  top: number; // of the bands: the bottom of A
  bottom: number; // the top of B
}

const isVisible = ({ track }: PairLane, i: number, view: View): boolean =>
  track.start_ms[i] + track.dur_ms[i] >= view.from && track.start_ms[i] <= view.to;

// Items of A that have a partner and are visible on either side.
function visiblePairs({ a, b, viewA, viewB }: PairFrame): { i: number; partner: number }[] {
  const out: { i: number; partner: number }[] = [];
  a.track.partner.forEach((partner, i) => {
    if (partner !== null && (isVisible(a, i, viewA) || isVisible(b, partner, viewB))) out.push({ i, partner });
  });
  return out;
}

function drawBand(context: CanvasRenderingContext2D, frame: PairFrame, i: number, partner: number): void {
  const { a, b, viewA, viewB, width, top, bottom } = frame;
  const scale = width / (viewA.to - viewA.from);
  const x1 = (a.track.start_ms[i] - viewA.from) * scale;
  const x2 = x1 + Math.max(0.8, a.track.dur_ms[i] * scale);
  const x3 = (b.track.start_ms[partner] - viewB.from) * scale;
  const x4 = x3 + Math.max(0.8, b.track.dur_ms[partner] * scale);
  const y1 = top - (a.rows - 1 - a.row[i]) * ROW_PX;
  const y2 = bottom + b.row[partner] * ROW_PX;
  const middle = (y1 + y2) / 2;
  context.beginPath();
  context.moveTo(x1, y1);
  context.bezierCurveTo(x1, middle, x3, middle, x3, y2);
  context.lineTo(x4, y2);
  context.bezierCurveTo(x4, middle, x2, middle, x2, y1);
  context.fill();
  context.stroke(); // a band that leans far is thinner than a pixel: its edge keeps it visible
}

// Bands between partners: every change, and as many of the rest as can be told apart.
export function drawBands(
  context: CanvasRenderingContext2D,
  frame: PairFrame,
  paint: Paint,
  hover: PairHit | null,
): void {
  const pairs = visiblePairs(frame);
  const every = pairs.length < 500 ? 1 : Math.ceil(pairs.length / UNCHANGED_BANDS);
  let drawn = 0;
  for (const [at, { i, partner }] of pairs.entries()) {
    const change = frame.b.track.change[partner] ?? frame.a.track.change[i];
    const isHovered = hover !== null && hover.index === (hover.side === "a" ? i : partner);
    const isSkipped = at % every !== 0 && change === null;
    if (!isHovered && (isSkipped || paint.isFaded(change))) continue;
    if (++drawn > MAX_BANDS) break;
    context.globalAlpha = isHovered ? 0.85 : change === null ? 0.3 : 0.45;
    context.fillStyle = context.strokeStyle = paint.fill(change);
    context.lineWidth = isHovered ? 1.2 : 0.5;
    drawBand(context, frame, i, partner);
  }
  context.globalAlpha = 1;
}

export function drawStrip(
  canvas: HTMLCanvasElement,
  width: number,
  lanes: { lane: PairLane; view: View }[],
  whole: number,
  paint: Paint,
): void {
  const height = lanes.length * STRIP_PX + 4;
  const context = prepareCanvas(canvas, width, height);
  if (!context) return;
  const scale = width / whole;
  context.fillStyle = color("--sunken");
  context.fillRect(0, 0, width, height);
  lanes.forEach(({ lane: { track }, view }, k) => {
    for (const isChanged of [false, true]) {
      let drawnTo = -1;
      for (let i = 0; i < track.start_ms.length; ++i) {
        const change = track.change[i];
        if ((change !== null) !== isChanged) continue;
        const x = track.start_ms[i] * scale;
        const right = Math.max(x + 0.7, x + track.dur_ms[i] * scale);
        if (right <= drawnTo + 0.3) continue;
        drawnTo = right;
        context.globalAlpha = paint.isFaded(change) ? 0.25 : 1;
        context.fillStyle = paint.fill(change);
        context.fillRect(x, 2 + k * STRIP_PX + 1, right - x, STRIP_PX - 2);
      }
    }
    context.globalAlpha = 1;
    if (view.to - view.from > 0.999 * whole) return;
    context.strokeStyle = color("--accent");
    context.lineWidth = 1.5;
    context.strokeRect(view.from * scale, 2 + k * STRIP_PX, Math.max(2, (view.to - view.from) * scale), STRIP_PX - 1);
  });
}
