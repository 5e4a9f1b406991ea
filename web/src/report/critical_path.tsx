// SPDX-License-Identifier: Apache-2.0
// The chain of work that decided the wall time.
import type { PathStrip, ReportPath } from "../data/replies";
import { useWidth } from "../widgets/canvas";
import { ms, pct, plain } from "../widgets/format";
import { StackedBar } from "../widgets/stacked_bar";
import { SortTable } from "../widgets/table";
import { stripShapes } from "./path_shape";
import "./critical_path.css";

const STRIP_PX = 44;
const HUES = 10;

function Strip({ strip, shade }: { strip: PathStrip; shade: (name: string) => string }) {
  const [box, width] = useWidth();
  return (
    <div class="path" ref={box}>
      {width > 0 && (
        <svg width={width} height={STRIP_PX} role="img" aria-label="The critical path over time">
          {stripShapes(strip, width, STRIP_PX).map(({ name, shape }) => (
            <path key={name} d={shape} style={{ fill: shade(name) }}>
              <title>{plain(name)}</title>
            </path>
          ))}
        </svg>
      )}
      <p class="note">Composition over time, from the start of the run to its end. One column is {ms(strip.bin_ms)}.</p>
    </div>
  );
}

export function CriticalPathView({ path }: { path: ReportPath }) {
  const shares = path.shares.filter((s) => s.ms > 0);
  const shade = (name: string) =>
    `var(--hue-${
      Math.max(
        0,
        shares.findIndex((s) => s.class === name),
      ) % HUES
    })`;
  const slices = shares.map((s) => ({
    key: s.class,
    label: plain(s.class),
    ms: s.ms,
    share: s.share ?? 0,
    color: shade(s.class),
  }));
  return (
    <div>
      <StackedBar name="Critical path by class" slices={slices} />
      {path.strip && <Strip strip={path.strip} shade={shade} />}
      {path.contributors.length > 0 && (
        <SortTable
          id="path"
          rows={path.contributors}
          sort="ms"
          columns={[
            { key: "name", label: "On the path", text: true, value: (t) => t.name ?? "" },
            { key: "class", label: "Class", text: true, value: (t) => plain(t.class) },
            { key: "ms", label: "Time", value: (t) => t.ms, show: (t) => ms(t.ms) },
            { key: "share", label: "Share", value: (t) => t.share, show: (t) => pct(t.share) },
          ]}
        />
      )}
    </div>
  );
}
