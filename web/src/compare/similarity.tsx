// SPDX-License-Identifier: Apache-2.0
// How similar the two runs are, and the operators that differ most.
import type { Similarity } from "../data/replies";
import { count, pct, short3 } from "../widgets/format";
import { SortTable } from "../widgets/table";

export function SimilarityView({ similarity: s }: { similarity: Similarity }) {
  return (
    <div>
      <p class="facts">
        <span>
          similarity <b>{s.similarity.toFixed(4)}</b>
        </span>
        <span>
          of the aligned operators <b>{s.cosine.toFixed(4)}</b>
        </span>
        <span>
          plain cosine <b>{s.plain.toFixed(4)}</b>
        </span>
        <span>{count(s.matched_ops)} operators aligned</span>
        {s.substituted > 0 && <span class="muted">{count(s.substituted)} features not measured</span>}
      </p>
      <SortTable
        id="similarity"
        rows={s.divergent}
        sort="distance"
        columns={[
          { key: "name", label: "Least similar", text: true, value: (d) => d.name },
          { key: "type", label: "Type", text: true, value: (d) => d.type },
          { key: "a", label: "Latency share A", value: (d) => d.lat_norm_a, show: (d) => pct(d.lat_norm_a) },
          { key: "b", label: "Latency share B", value: (d) => d.lat_norm_b, show: (d) => pct(d.lat_norm_b) },
          { key: "distance", label: "Distance", value: (d) => d.distance, show: (d) => short3(d.distance) },
        ]}
      />
    </div>
  );
}
