// SPDX-License-Identifier: Apache-2.0
// Allocated device memory over time.
import type { ReportMemory } from "../data/replies";
import { useWidth } from "../widgets/canvas";
import { bytes } from "../widgets/format";
import "./memory.css";

const HEIGHT = 140;
const HEADROOM_PX = 20;

export function MemoryView({ memory }: { memory: ReportMemory }) {
  const [box, width] = useWidth();
  const top = Math.max(1, ...memory.peaks.map((p) => p.allocated_bytes));
  const end = Math.max(1e-9, ...memory.series.map((s) => s.at_ms[s.at_ms.length - 1] ?? 0));
  const x = (at: number) => ((at / end) * (width - 2) + 1).toFixed(1);
  const y = (size: number) => (HEIGHT - 2 - (size / top) * (HEIGHT - HEADROOM_PX)).toFixed(1);
  return (
    <div>
      <p class="facts">
        {memory.peaks.map((p) => (
          <span key={p.device}>
            GPU {p.device}: peak <b>{bytes(p.allocated_bytes)}</b> allocated, {bytes(p.reserved_bytes)} reserved
          </span>
        ))}
      </p>
      <div ref={box}>
        {width > 0 && (
          <svg width={width} height={HEIGHT} role="img" aria-label="Allocated device memory over time">
            {memory.series.map((s, i) => (
              <polyline
                key={s.device}
                class="line"
                style={{ stroke: `var(--hue-${i % 10})` }}
                fill="none"
                points={s.at_ms.map((at, k) => `${x(at)},${y(s.allocated_bytes[k])}`).join(" ")}
              />
            ))}
            <text x={2} y={11}>
              {bytes(top)}
            </text>
          </svg>
        )}
      </div>
    </div>
  );
}
