// SPDX-License-Identifier: Apache-2.0
// The sections of a comparison, in order. One that the runs have nothing for is left out.
import type { ComponentChildren } from "preact";
import type { CompareDocument, CostShift } from "../data/replies";
import { cut, ms } from "../widgets/format";
import type { SectionInfo } from "../widgets/shell";
import { Across } from "./across";
import { placeText } from "./contribution_text";
import { Counters } from "./counters";
import { FlameDiff } from "./flame_diff";
import { PairTimeline } from "./pair_timeline";
import { sideName } from "./run_rows";
import { Runs } from "./runs";
import { SimilarityView } from "./similarity";
import { hasTables, Tables } from "./tables";
import { WaterfallView } from "./waterfall";
import "./compare.css";

function Shifts({ shifts }: { shifts: CostShift[] }) {
  return (
    <ul>
      {shifts.map((s, i) => (
        <li key={i}>
          <b>{ms(s.ms)}</b> moved from {cut(s.from, 100)} to {cut(s.to, 100)}
          {placeText(s) && <span class="muted"> in {placeText(s)}</span>}
        </li>
      ))}
    </ul>
  );
}

export function sectionsOf(c: CompareDocument): SectionInfo[] {
  const names = { a: sideName(c, "a"), b: sideName(c, "b") };
  const hasItems = c.timeline.a.start_ms.length + c.timeline.b.start_ms.length > 0;
  const all: [id: string, title: string, body: ComponentChildren][] = [
    ["waterfall", "Changes", <WaterfallView key="waterfall" comparison={c} names={names} />],
    ["across", "Both setups", c.across && <Across across={c.across} />],
    ["timelines", "Timelines", hasItems && <PairTimeline comparison={c} names={names} />],
    ["flame", "Differential flame graph", (c.flame.device || c.flame.host) && <FlameDiff flame={c.flame} />],
    ["tables", "Tables", hasTables(c) && <Tables comparison={c} />],
    ["shifts", "Moved time", c.shifts.length > 0 && <Shifts shifts={c.shifts} />],
    ["counters", "Counters", c.counters.length > 0 && <Counters counters={c.counters} />],
    ["similarity", "Similarity", c.fingerprint.divergent.length > 0 && <SimilarityView similarity={c.fingerprint} />],
    ["runs", "Runs", <Runs key="runs" comparison={c} />],
  ];
  return all
    .filter(([, , body]) => body)
    .map(([id, title, body]) => ({ id, title, link: id === "flame" ? "Flame" : undefined, body }));
}
