// SPDX-License-Identifier: Apache-2.0
// The verdict and the main figures of a comparison, and what makes the runs hard to compare.
import type { ComponentChildren } from "preact";
import type { Comparability, CompareFacts } from "../data/replies";
import { count, cut, ms, pct } from "../widgets/format";
import { kindOf, relativeChange, signedMs, signedPct } from "./delta";
import { sideName } from "./run_rows";

const DRIFT_SHOWN = 0.001;

export const titleOf = (c: CompareFacts): string => `${cut(sideName(c, "a"), 50)} → ${cut(sideName(c, "b"), 50)}`;

function Tile({
  name,
  kind,
  title,
  children,
}: {
  name: string;
  kind?: string;
  title?: string;
  children: ComponentChildren;
}) {
  return (
    <div class={kind} title={title}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Tiles({ comparison: c }: { comparison: CompareFacts }) {
  const time = c.options.time === "device" ? "device time" : "wall time";
  return (
    <dl class="tiles">
      <Tile name={`A, ${time}`}>{ms(c.wall_a_ms)}</Tile>
      <Tile name={`B, ${time}`}>{ms(c.wall_b_ms)}</Tile>
      <Tile name="B − A" kind={c.delta_ms ? kindOf(c.delta_ms) : undefined}>
        {signedMs(c.delta_ms)} <small>{signedPct(relativeChange(c.wall_a_ms, c.wall_b_ms))}</small>
      </Tile>
      {c.normalised_by && (
        <Tile name={`per ${cut(c.normalised_by, 40)}`}>
          {ms(c.normal_a_ms)} → {ms(c.normal_b_ms)}
        </Tile>
      )}
      <Tile name="similarity">{c.similarity === null ? "–" : c.similarity.toFixed(3)}</Tile>
      <Tile name="matched in A, in B">
        {pct(c.matched_share_a, 0)}, {pct(c.matched_share_b, 0)}
      </Tile>
      {c.drift !== null && Math.abs(c.drift - 1) > DRIFT_SHOWN && (
        <Tile name="host drift" title="How much slower the host of B was in unchanged work; not counted as a change">
          {signedPct(c.drift - 1)}
        </Tile>
      )}
      {c.verdict.more_runs_needed !== null && (
        <Tile name="more runs needed">{count(c.verdict.more_runs_needed)} per side</Tile>
      )}
    </dl>
  );
}

function Differences({ notes }: { notes: Comparability[] }) {
  if (notes.length === 0) return null;
  return (
    <div class="loss">
      <b>The runs also differ in</b>
      <ul>
        {notes.map((n) => (
          <li key={n.what}>
            {cut(n.what, 80)}: {cut(n.a ?? "–", 80)} → {cut(n.b ?? "–", 80)}
            {n.consequence && <span class="muted">. {cut(n.consequence, 300)}</span>}
          </li>
        ))}
      </ul>
    </div>
  );
}

export function Hero({ comparison: c }: { comparison: CompareFacts }) {
  const { class: kind, confidence, text } = c.verdict;
  const only = [c.options.stage, c.options.step === null ? null : `instance ${c.options.step}`, c.phase?.text].filter(
    Boolean,
  );
  const isSure = kind !== "undecided" && confidence !== null && confidence > 0;
  return (
    <>
      <p class="what">
        {titleOf(c)}
        {only.length > 0 && `, only ${cut(only.join(", "), 80)}`}
      </p>
      <p class={`verdict ${kind}`}>
        {kind}
        {isSure && `, confidence ${pct(confidence, 0)}`}
      </p>
      <h1 id="verdict">{cut(text || `${ms(c.wall_a_ms)} → ${ms(c.wall_b_ms)}`, 800)}</h1>
      <Tiles comparison={c} />
      <Differences notes={c.comparability} />
    </>
  );
}
