// SPDX-License-Identifier: Apache-2.0
// The flame graphs of both runs merged: width is the time of A, of B or of both, colour is the change.
import { useMemo, useState } from "preact/hooks";
import type { CompareFlame } from "../data/replies";
import { FlameCanvas } from "../widgets/flame_canvas";
import { ms } from "../widgets/format";
import { Toggle } from "../widgets/toggle";
import { relativeChange, signedMs, signedPct } from "./delta";
import { DeltaLegend, themeDeltaScale } from "./delta_colors";
import type { DiffTree } from "./flame_diff_tree";
import { changeStrength, flattenFrames, largestChange } from "./flame_diff_tree";

type Metric = "device" | "host";
type Width = "both" | "a" | "b";

function FrameTip({ tree, node }: { tree: DiffTree; node: number }) {
  const a = tree.a[node];
  const b = tree.b[node];
  const relative = relativeChange(a, b);
  return (
    <>
      <span>
        A {ms(a)}, B {ms(b)}
      </span>
      <span>
        <b>{signedMs(b - a)}</b>
        {relative !== null && ` (${signedPct(relative)})`}
      </span>
      {a === 0 && <span>only in B</span>}
      {b === 0 && <span>only in A</span>}
    </>
  );
}

export function FlameDiff({ flame }: { flame: CompareFlame }) {
  const trees = useMemo(
    () => ({
      device: flame.device && flattenFrames(flame.device),
      host: flame.host && flattenFrames(flame.host),
    }),
    [flame],
  );
  const [metric, setMetric] = useState<Metric>(trees.device ? "device" : "host");
  const [width, setWidth] = useState<Width>("both");
  const tree = trees[metric];
  if (!tree) return null;
  const largest = largestChange(tree);
  const fill = () => {
    const shade = themeDeltaScale();
    return (node: number) => shade(changeStrength(tree.b[node] - tree.a[node], largest));
  };
  return (
    <div>
      <FlameCanvas
        id="flame-view"
        tree={tree}
        weight={tree[width]}
        fill={fill}
        tip={(node) => <FrameTip tree={tree} node={node} />}
      >
        <Toggle
          chosen={metric}
          onChoose={setMetric}
          choices={[
            { value: "device", label: "GPU time", disabled: !trees.device },
            { value: "host", label: "Host time", disabled: !trees.host },
          ]}
        />
        <span class="sep" />
        <Toggle
          chosen={width}
          onChoose={setWidth}
          choices={[
            { value: "both", label: "Both" },
            { value: "a", label: "A" },
            { value: "b", label: "B" },
          ]}
        />
      </FlameCanvas>
      <DeltaLegend />
      <p class="note">
        Width is the time in {width === "both" ? "both runs, averaged" : `run ${width.toUpperCase()}`}. Frames below 0.1
        % are not shown; their time is part of the frames above them.
      </p>
    </div>
  );
}
