// SPDX-License-Identifier: Apache-2.0
// The item under the mouse, its partner in the other run, and the change it belongs to.
import type { CompareTimeline, Contribution } from "../data/replies";
import { count, cut, ms } from "../widgets/format";
import { Tip } from "../widgets/tip";
import { causeText } from "./contribution_text";
import { signedMs } from "./delta";
import type { PairHit } from "./pair_draw";
import { otherSide } from "./pair_lanes";

interface Props {
  hit: PairHit & { x: number; y: number };
  timeline: CompareTimeline;
  room: number;
  contributions: Map<number, Contribution>; // by rank
}

function Partner({ hit: { side, index }, timeline }: Pick<Props, "hit" | "timeline">) {
  const own = timeline[side];
  const other = timeline[otherSide(side)];
  const name = otherSide(side).toUpperCase();
  const partner = own.partner[index];
  if (partner === null) return <span class="muted">no match in {name}</span>;
  const delta = (other.dur_ms[partner] - own.dur_ms[index]) * (side === "a" ? 1 : -1);
  const partnerName = timeline.names[other.name[partner]] ?? "";
  return (
    <span>
      {name}: {partnerName === timeline.names[own.name[index]] ? "same name" : cut(partnerName, 120)},{" "}
      {ms(other.dur_ms[partner])} ({signedMs(delta)})
    </span>
  );
}

export function PairTip({ hit, timeline, room, contributions }: Props) {
  const track = timeline[hit.side];
  const rank = track.change[hit.index];
  const change = rank === null ? undefined : contributions.get(rank);
  const merged = track.count[hit.index];
  return (
    <Tip x={hit.x} y={hit.y} room={room} title={cut(timeline.names[track.name[hit.index]] ?? "", 200)}>
      <span>
        {hit.side.toUpperCase()}: {ms(track.dur_ms[hit.index])}, starts at {ms(track.start_ms[hit.index])}
      </span>
      {merged > 1 && <span>{count(merged)} items drawn as one, named after the longest</span>}
      <Partner hit={hit} timeline={timeline} />
      {change && (
        <span>
          {change.rank}. <b>{cut(causeText(change), 80)}</b> {signedMs(change.delta_ms)} in total
        </span>
      )}
    </Tip>
  );
}
