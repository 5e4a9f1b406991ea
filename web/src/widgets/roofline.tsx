// SPDX-License-Identifier: Apache-2.0
// What the hardware allows against what was reached, on two logarithmic axes.
import { useMemo, useState } from "preact/hooks";
import type { DevicePeaks, RooflinePoint } from "../data/replies";
import { useWidth } from "./canvas";
import { cut, ms, pct, plural, short3 } from "./format";
import type { Axes, Peaks, PlottedPoint } from "./roofline_scale";
import {
  axesFor,
  bandwidthRoof,
  decades,
  isBelow,
  labelPlaces,
  plottedPoints,
  powerText,
  readPeaks,
} from "./roofline_scale";
import { Tip } from "./tip";
import "./roofline.css";

const HEIGHT = 380;
const LEFT = 56;
const RIGHT = 16;
const TOP = 12;
const BOTTOM = 40;

interface Frame {
  axes: Axes;
  width: number;
  px: (x: number) => number;
  py: (y: number) => number;
}

function frameFor(axes: Axes, width: number): Frame {
  return {
    axes,
    width,
    px: (x) => LEFT + ((x - axes.x0) / (axes.x1 - axes.x0)) * (width - LEFT - RIGHT),
    py: (y) => TOP + ((axes.y1 - y) / (axes.y1 - axes.y0)) * (HEIGHT - TOP - BOTTOM),
  };
}

function Grid({ axes, width, px, py }: Frame) {
  return (
    <>
      {decades(axes.x0, axes.x1).map((e) => (
        <g key={e}>
          <line class="grid" x1={px(e)} x2={px(e)} y1={TOP} y2={HEIGHT - BOTTOM} />
          <text x={px(e)} y={HEIGHT - BOTTOM + 16} text-anchor="middle">
            {powerText(10 ** e)}
          </text>
        </g>
      ))}
      {decades(axes.y0, axes.y1).map((e) => (
        <g key={e}>
          <line class="grid" x1={LEFT} x2={width - RIGHT} y1={py(e)} y2={py(e)} />
          <text x={LEFT - 6} y={py(e) + 4} text-anchor="end">
            {powerText(10 ** e)}
          </text>
        </g>
      ))}
      <text x={(LEFT + width) / 2} y={HEIGHT - 6} text-anchor="middle">
        FLOP/byte
      </text>
      <text transform={`translate(13 ${HEIGHT / 2}) rotate(-90)`} text-anchor="middle">
        TFLOP/s
      </text>
    </>
  );
}

function BandwidthRoof({ gbps, frame: { axes, px, py } }: { gbps: number; frame: Frame }) {
  const { from, to } = bandwidthRoof(axes, gbps);
  return (
    <>
      <line class="roof" x1={px(from[0])} y1={py(from[1])} x2={px(to[0])} y2={py(to[1])} />
      <text class="rooflabel" x={px((from[0] + to[0]) / 2) - 10} y={py((from[1] + to[1]) / 2) - 6} text-anchor="end">
        {short3(gbps)} GB/s
      </text>
    </>
  );
}

function Roofs({ peaks: { gbps, roofs }, frame }: { peaks: Peaks; frame: Frame }) {
  const { axes, width, px, py } = frame;
  const drawn = roofs
    .map((roof) => ({ ...roof, y: Math.log10(roof.tflops) }))
    .filter(({ y }) => y >= axes.y0 && y <= axes.y1);
  const labels = labelPlaces(drawn.map(({ y }) => py(y)));
  return (
    <>
      {gbps !== null && <BandwidthRoof gbps={gbps} frame={frame} />}
      {drawn.map(({ label, tflops, y }, i) => {
        const start = gbps === null ? axes.x0 : Math.max(axes.x0, Math.min(axes.x1, y + 3 - Math.log10(gbps)));
        return (
          <g key={label}>
            <line class="roof" x1={px(start)} x2={width - RIGHT} y1={py(y)} y2={py(y)} />
            <text class="rooflabel" x={width - RIGHT} y={labels[i]} text-anchor="end">
              {label} {short3(tflops)} TFLOP/s
            </text>
          </g>
        );
      })}
    </>
  );
}

function PointTip({ point: p, x, y, room }: { point: RooflinePoint; x: number; y: number; room: number }) {
  return (
    <Tip x={x} y={y} room={room} title={cut(p.op ?? p.kernel ?? "(unknown)", 200)}>
      <span>
        {short3(p.ai)} FLOP/byte, {short3(p.tflops)} TFLOP/s, {short3(p.gbps)} GB/s
      </span>
      {p.shapes && <span>{cut(p.shapes, 160)}</span>}
      <span>
        {plural(p.calls, "call")}, {ms(p.t_measured_ms)}; {ms(p.t_roof_ms)} at the roof
      </span>
      {p.efficiency !== null && (
        <span>
          {pct(p.efficiency)} of the roof{p.bound && `, ${p.bound}-bound`}
        </span>
      )}
      {p.source && <span class="muted">{cut(p.source, 120)}</span>}
    </Tip>
  );
}

interface MarkProps {
  drawn: PlottedPoint;
  frame: Frame;
  radius: number;
  onHover: (hover: Hover | null) => void;
}

// A circle; a triangle on the axis for a point below the plot.
function PointMark({ drawn, frame, radius, onHover }: MarkProps) {
  const { point } = drawn;
  const mark = {
    class: `point ${point.bound === "compute" ? "compute" : "memory"}`,
    onMouseEnter: (e: MouseEvent) => onHover({ x: e.offsetX, y: e.offsetY, point }),
    onMouseLeave: () => onHover(null),
  };
  const x = frame.px(drawn.x);
  if (!isBelow(frame.axes, drawn)) return <circle {...mark} cx={x} cy={frame.py(drawn.y)} r={radius} />;
  const y = HEIGHT - BOTTOM;
  return <path {...mark} class={`${mark.class} below`} d={`M${x - 5} ${y - 9}h10l-5 9z`} />;
}

function belowNote(below: number, what: string): string {
  return below > 0 ? ` ${plural(below, what)} below the plot: triangles on the axis.` : "";
}

function peaksNote({ source, gbps, roofs }: Peaks): string {
  if (source) return ` Peaks: ${cut(source, 160)}.`;
  return gbps === null && roofs.length === 0
    ? " The peak rates of this device are not known; pass them with --peaks."
    : "";
}

interface Props {
  points: RooflinePoint[];
  peaks: DevicePeaks[];
  reason: string | null;
}

interface Hover {
  x: number;
  y: number;
  point: RooflinePoint;
}

export function RooflineView({ points, peaks: devices, reason }: Props) {
  const [box, width] = useWidth();
  const [hover, setHover] = useState<Hover | null>(null);
  const drawn = useMemo(() => plottedPoints(points), [points]);
  const peaks = useMemo(
    () => readPeaks(devices, new Set(points.flatMap((p) => (p.dtype ? [p.dtype] : [])))),
    [devices, points],
  );
  if (drawn.length === 0)
    return <p class="note">Nothing to plot: no operator has both a FLOP count and a byte count.</p>;
  const what = drawn.every((d) => d.point.op === null) ? "kernel" : "operator";
  const frame = frameFor(axesFor(drawn, peaks), width);
  const longest = Math.max(...drawn.map((d) => d.point.t_measured_ms), 1e-9);
  const radius = ({ point }: PlottedPoint) => 3 + 9 * Math.sqrt(point.t_measured_ms / longest);
  return (
    <div class="lanes" ref={box} id="roofline-view">
      {width > 0 && (
        <svg width={width} height={HEIGHT} role="img" aria-label="Roofline plot">
          <Grid {...frame} />
          {drawn.map((d) => (
            <PointMark
              key={`${d.point.op} ${d.point.shapes} ${d.point.types} ${d.point.kernel}`}
              drawn={d}
              frame={frame}
              radius={radius(d)}
              onHover={setHover}
            />
          ))}
          <Roofs peaks={peaks} frame={frame} />
        </svg>
      )}
      {hover && <PointTip point={hover.point} x={hover.x} y={hover.y} room={width} />}
      <p class="note">
        Each circle is {what === "kernel" ? "a kernel" : "an operator"}; a larger circle took more time. Blue is
        compute-bound, orange memory-bound.
        {belowNote(drawn.filter((d) => isBelow(frame.axes, d)).length, what)}
        {peaksNote(peaks)}
        {reason ? ` ${cut(reason, 200)}` : ""}
      </p>
    </div>
  );
}
