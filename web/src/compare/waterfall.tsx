// SPDX-License-Identifier: Apache-2.0
// From the wall time of A to that of B, one step per change. A click opens a change.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { CompareFacts, Contribution } from "../data/replies";
import { cut, ms, plural } from "../widgets/format";
import { ContributionDetails } from "./contribution";
import { causeText, confidenceText, placeText } from "./contribution_text";
import { kindOf, shareText, signedMs } from "./delta";
import type { Range, Step } from "./waterfall_steps";
import { position, waterfallOf } from "./waterfall_steps";
import "./waterfall.css";

const FIRST_CHANGES = 12;

function Bar({ step, kind, range }: { step: Step; kind: string; range: Range }) {
  const left = position(Math.min(step.from, step.to), range);
  const right = position(Math.max(step.from, step.to), range);
  return (
    <span class="track">
      <i class={`step ${kind}`} style={{ left: `${left}%`, width: `max(2px, ${right - left}%)` }} />
      <i class="level" style={{ left: `${position(step.to, range)}%` }} />
    </span>
  );
}

interface CellsProps {
  rank?: ComponentChildren;
  what: ComponentChildren;
  track: ComponentChildren;
  delta: ComponentChildren;
  share?: string;
  confidence?: string;
}

function Cells({ rank, what, track, delta, share, confidence }: CellsProps) {
  return (
    <>
      <span class="fall-rank">{rank}</span>
      <span class="fall-what">{what}</span>
      {track}
      <span class="fall-delta">{delta}</span>
      <span class="fall-share">{share}</span>
      <span class="fall-confidence">{confidence}</span>
    </>
  );
}

function Wall({ side, name, value, range }: { side: string; name: string; value: number | null; range: Range }) {
  const what = (
    <>
      <b>{side}</b> <span class="muted">{cut(name, 60)}</span>
    </>
  );
  const track = (
    <span class="track">
      <i class="step whole" style={{ left: 0, width: `${position(value ?? 0, range)}%` }} />
    </span>
  );
  return (
    <div class="fall-row wall">
      <Cells what={what} track={track} delta={<b>{ms(value)}</b>} />
    </div>
  );
}

function Head({ range }: { range: Range }) {
  const track = (
    <span class="track">
      <span class="axis">{range.low > 0 ? `axis starts at ${ms(range.low)}` : ""}</span>
    </span>
  );
  return (
    <div class="fall-row head" aria-hidden="true">
      <Cells rank="#" what="Change" track={track} delta="B − A" share="Share" confidence="Confidence" />
    </div>
  );
}

interface ChangeProps {
  contribution: Contribution;
  step: Step;
  range: Range;
  isOpen: boolean;
  onToggle: () => void;
}

function Change({ contribution: c, step, range, isOpen, onToggle }: ChangeProps) {
  const isMerged = c.merged > 0;
  const kind = `${kindOf(c.delta_ms)}${c.significant ? "" : " weak"}`;
  const what = (
    <>
      <b>{isMerged ? c.text : causeText(c)}</b>
      <span class="muted place">{placeText(c) || (isMerged ? "" : cut(c.text, 120))}</span>
    </>
  );
  return (
    <div class={`fall-item ${isOpen ? "is-open" : ""}`} id={`change-${c.rank}`}>
      <button type="button" class="fall-row" aria-expanded={isOpen} onClick={onToggle}>
        <Cells
          rank={isMerged ? "" : c.rank}
          what={what}
          track={<Bar step={step} kind={kind} range={range} />}
          delta={signedMs(c.delta_ms)}
          share={shareText(c.share)}
          confidence={confidenceText(c)}
        />
      </button>
      {isOpen && <ContributionDetails contribution={c} />}
    </div>
  );
}

export function WaterfallView({ comparison: c, names }: { comparison: CompareFacts; names: { a: string; b: string } }) {
  const [all, setAll] = useState(false);
  const [open, setOpen] = useState<number | null>(null);
  const total = c.contributions.length;
  const { changes, rest, residual, range } = waterfallOf(c, all ? total : FIRST_CHANGES);
  const shareOf = (ms: number) => shareText(c.delta_ms ? ms / c.delta_ms : null);
  return (
    <div class="fall" id="fall">
      <Head range={range} />
      <Wall side="A" name={names.a} value={c.wall_a_ms} range={range} />
      {changes.map(({ contribution, step }) => (
        <Change
          key={contribution.rank}
          contribution={contribution}
          step={step}
          range={range}
          isOpen={open === contribution.rank}
          onToggle={() => setOpen(open === contribution.rank ? null : contribution.rank)}
        />
      ))}
      {rest && (
        <div class="fall-row">
          <Cells
            what={plural(rest.count, "smaller change")}
            track={<Bar step={rest} kind={`${kindOf(rest.delta)} weak`} range={range} />}
            delta={signedMs(rest.delta)}
            share={shareOf(rest.delta)}
          />
        </div>
      )}
      {c.residual_ms !== null && c.residual_ms !== 0 && (
        <div class="fall-row muted">
          <Cells
            what="unexplained"
            track={<Bar step={residual} kind="weak" range={range} />}
            delta={signedMs(residual.delta)}
            share={shareOf(residual.delta)}
          />
        </div>
      )}
      <Wall side="B" name={names.b} value={c.wall_b_ms} range={range} />
      {total > FIRST_CHANGES && (
        <button type="button" class="more" onClick={() => setAll(!all)}>
          {all ? `Show the first ${FIRST_CHANGES}` : `Show all ${plural(total, "change")}`}
        </button>
      )}
      {total === 0 && <p class="note">No change adds or saves time.</p>}
      <p class="note">
        Each step is the time that a change adds or saves; the steps sum to the difference. Pale steps are not
        significant. Click a step for its calls and evidence.
      </p>
    </div>
  );
}
