// SPDX-License-Identifier: Apache-2.0
// What the hardware allows against what was reached, on two logarithmic axes.
import { useMemo, useState } from "preact/hooks";
import { useWidth } from "./canvas";
import { count, cut, ms, pct, short3 } from "./format";
import type { RooflinePoint } from "./model";

interface Roof { label: string; tflops: number }

// Whatever the section calls them: one bandwidth, and the compute peaks of the number formats in use.
function readPeaks(peaks: any, used: Set<string>): { gbps: number | null; roofs: Roof[]; source: string | null } {
  const found: { gbps: number | null; roofs: Roof[]; source: string | null } = { gbps: null, roofs: [], source: null };
  const list = Array.isArray(peaks) ? peaks : [peaks];
  for (const item of list) {
    if (typeof item !== "object" || item === null) continue;
    for (const [key, value] of Object.entries(item)) {
      if (key === "source" && typeof value === "string") found.source ??= value;
      if (typeof value !== "number" || !(value > 0)) continue;
      if (key.endsWith("gbps")) found.gbps = Math.max(found.gbps ?? 0, value);
      else if (key.endsWith("tflops")) {
        const label = key.replace(/_?tflops$/, "").replace(/^peak_?/, "") || "peak";
        if (used.size > 0 && label !== "peak" && !used.has(label)) continue;
        const same = found.roofs.find((r) => r.tflops === value);
        if (!same) found.roofs.push({ label, tflops: value });
        else if (!same.label.split(", ").includes(label)) same.label += `, ${label}`;
      }
    }
  }
  return found;
}

const power = (v: number) => (v >= 1e4 || v < 1e-2 ? v.toExponential(0).replace("+", "") : String(Number(v.toPrecision(3))));
const decades = (from: number, to: number) => {
  const out: number[] = [];
  for (let e = Math.ceil(from); e <= Math.floor(to); ++e) out.push(e);
  return out;
};

export function RooflineSection({ points, peaks, reason }: { points: RooflinePoint[]; peaks: any; reason?: string | null }) {
  const [box, width] = useWidth();
  const [hover, setHover] = useState<{ x: number; y: number; p: RooflinePoint } | null>(null);
  const drawn = points.filter((p) => (p.ai ?? 0) > 0 && (p.tflops ?? 0) > 0);
  const { gbps, roofs, source } = useMemo(() => readPeaks(peaks, new Set(points.map((p) => p.dtype).filter((d): d is string => !!d))), [peaks]);
  const best = Math.max(...roofs.map((r) => r.tflops), 0);
  if (drawn.length === 0) return <p class="note">No operator has both its FLOPs and its bytes, so there is nothing to plot.</p>;

  const height = 380;
  const left = 56, right = 16, top = 12, bottom = 40;
  const xs = drawn.map((p) => Math.log10(p.ai!)), ys = drawn.map((p) => Math.log10(p.tflops!));
  const ridge = gbps && best ? Math.log10((best * 1000) / gbps) : 1;
  const x0 = Math.floor(Math.min(-1, ...xs)), x1 = Math.ceil(Math.max(ridge + 0.7, ...xs));
  const y1 = Math.max(best ? Math.log10(best) + 0.35 : 0.5, Math.max(...ys) + 0.2), y0 = Math.max(y1 - 6.5, Math.floor(Math.min(0, ...ys)));
  const px = (v: number) => left + ((v - x0) / (x1 - x0)) * (width - left - right);
  const py = (v: number) => top + ((y1 - v) / (y1 - y0)) * (height - top - bottom);
  const longest = Math.max(...drawn.map((p) => p.t_measured_ms ?? 0), 1e-9);

  return (
    <div class="lanes" ref={box} id="roofline-view">
      {width > 0 && (
        <svg width={width} height={height} role="img" aria-label="Roofline plot">
          {decades(x0, x1).map((e) => (
            <g key={`x${e}`}>
              <line class="grid" x1={px(e)} x2={px(e)} y1={top} y2={height - bottom} />
              <text x={px(e)} y={height - bottom + 16} text-anchor="middle">{power(10 ** e)}</text>
            </g>
          ))}
          {decades(y0, y1).map((e) => (
            <g key={`y${e}`}>
              <line class="grid" x1={left} x2={width - right} y1={py(e)} y2={py(e)} />
              <text x={left - 6} y={py(e) + 4} text-anchor="end">{power(10 ** e)}</text>
            </g>
          ))}
          <text x={(left + width) / 2} y={height - 6} text-anchor="middle">FLOP per byte</text>
          <text transform={`translate(13 ${height / 2}) rotate(-90)`} text-anchor="middle">TFLOP/s</text>
          {gbps && (
            <line class="roof" x1={px(Math.max(x0, y0 + 3 - Math.log10(gbps)))} y1={py(Math.max(y0, x0 + Math.log10(gbps) - 3))}
              x2={px(Math.min(x1, best ? ridge : x1))} y2={py(best ? Math.log10(best) : Math.min(y1, x1 + Math.log10(gbps) - 3))} />
          )}
          {gbps && (
            <text class="rooflabel" x={px((Math.max(x0, y0 + 3 - Math.log10(gbps)) + (best ? ridge : x1)) / 2) - 10} text-anchor="end"
              y={py((Math.max(y0, x0 + Math.log10(gbps) - 3) + (best ? Math.log10(best) : y1)) / 2) - 6}>{short3(gbps)} GB/s</text>
          )}
          {roofs.map((r) => {
            const y = Math.log10(r.tflops);
            if (y < y0 || y > y1) return null;
            const from = gbps ? Math.max(x0, Math.min(x1, Math.log10((r.tflops * 1000) / gbps))) : x0;
            return (
              <g key={r.label}>
                <line class="roof" x1={px(from)} x2={width - right} y1={py(y)} y2={py(y)} />
                <text class="rooflabel" x={width - right} y={py(y) - 4} text-anchor="end">{r.label} {short3(r.tflops)} TFLOP/s</text>
              </g>
            );
          })}
          {drawn.map((p, i) => (
            <circle key={i} class={`point ${p.bound === "compute" ? "compute" : "memory"}`} cx={px(Math.log10(p.ai!))}
              cy={py(Math.max(y0, Math.log10(p.tflops!)))} r={3 + 9 * Math.sqrt((p.t_measured_ms ?? 0) / longest)}
              onMouseEnter={(e) => setHover({ x: e.offsetX, y: e.offsetY, p })} onMouseLeave={() => setHover(null)} />
          ))}
        </svg>
      )}
      {hover && (
        <div class="tip" style={{ left: `${Math.min(hover.x + 14, Math.max(0, width - 300))}px`, top: `${hover.y + 14}px` }}>
          <b>{cut(hover.p.op ?? hover.p.kernel ?? "?", 200)}</b>
          <span>{short3(hover.p.ai)} FLOP/byte, {short3(hover.p.tflops)} TFLOP/s, {short3(hover.p.gbps)} GB/s</span>
          {hover.p.shapes && <span>{cut(hover.p.shapes, 160)}</span>}
          <span>{hover.p.calls != null && `${count(hover.p.calls)} calls `}took {ms(hover.p.t_measured_ms)}; at the roof {ms(hover.p.t_roof_ms)}</span>
          <span>{pct(hover.p.efficiency)} of the roof, {hover.p.bound ?? "?"} bound{hover.p.source ? `, from ${hover.p.source}` : ""}</span>
        </div>
      )}
      <p class="note">
        A circle is an operator; its area is its time. Blue: limited by compute; orange: by memory.
        {source ? ` Peaks: ${cut(source, 160)}.` : gbps === null && roofs.length === 0 ? " No peaks are known for this device: give them with --peaks." : ""}
        {reason ? ` ${cut(reason, 200)}` : ""}
      </p>
    </div>
  );
}
