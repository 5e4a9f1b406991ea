// SPDX-License-Identifier: Apache-2.0
// The call tree of a run as a flame graph; width is GPU or host time.
import { useMemo, useState } from "preact/hooks";
import type { ReportFlameNode } from "../data/replies";
import { hueOf } from "../widgets/canvas";
import { FlameCanvas } from "../widgets/flame_canvas";
import { ms, pct } from "../widgets/format";
import { color } from "../widgets/theme";
import { Toggle } from "../widgets/toggle";
import type { Metric } from "./flame_tree";
import { buildTree, rootTotal } from "./flame_tree";

export function FlameView({ nodes }: { nodes: ReportFlameNode[] }) {
  const tree = useMemo(() => buildTree(nodes), [nodes]);
  const sums = { device: rootTotal(tree, "device"), host: rootTotal(tree, "host") };
  const [metric, setMetric] = useState<Metric>(sums.device > 0 ? "device" : "host");
  const fill = () => {
    const fills = Array.from({ length: 10 }, (_, i) => color(`--hue-${i}`));
    return (node: number) => fills[hueOf(tree.names[node])];
  };
  const tip = (node: number) => (
    <>
      <span>{nodes[node].kind}</span>
      <span>
        GPU {ms(tree.total.device[node])} (self {ms(nodes[node].device_self_ms)})
      </span>
      <span>
        Host {ms(tree.total.host[node])} (self {ms(nodes[node].host_self_ms)})
      </span>
      {sums[metric] > 0 && (
        <span>
          {pct(tree.total[metric][node] / sums[metric])} of {metric === "device" ? "GPU" : "host"} time
        </span>
      )}
    </>
  );
  return (
    <FlameCanvas id="flame-view" tree={tree} weight={tree.total[metric]} fill={fill} tip={tip}>
      <Toggle
        chosen={metric}
        onChoose={setMetric}
        choices={[
          { value: "device", label: "GPU time", disabled: sums.device <= 0 },
          { value: "host", label: "Host time", disabled: sums.host <= 0 },
        ]}
      />
    </FlameCanvas>
  );
}
