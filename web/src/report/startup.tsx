// SPDX-License-Identifier: Apache-2.0
// What start-up consists of, and why warm-up steps took longer than steady ones, as trees.
import type { StartupPart, StartupSection } from "../data/replies";
import { CodeText } from "../widgets/code_text";
import { cut, ms, pct, plural } from "../widgets/format";
import "./startup.css";

// As in the other forms of a report.
const SHOWN_FROM_SHARE = 0.25;

export function showsStartup(startup: StartupSection | undefined): startup is StartupSection {
  return startup?.explains === "startup" && (startup.share ?? 0) > SHOWN_FROM_SHARE && startup.parts.length > 0;
}

function Parts({ title, parts }: { title: string; parts: StartupPart[] }) {
  const path: string[] = [];
  return (
    <table class="startup">
      <thead>
        <tr>
          <th>{title}</th>
          <th class="num">Time</th>
          <th class="num">Share</th>
        </tr>
      </thead>
      <tbody>
        {parts.map((part) => {
          path.length = part.depth;
          path.push(part.name);
          return (
            <tr key={path.join("\n")} class={`depth${part.depth}`}>
              <td>{cut(part.name, 120)}</td>
              <td class="num">{ms(part.ms)}</td>
              <td class="num">{pct(part.share)}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

export function StartupView({ startup }: { startup: StartupSection }) {
  const { warmup } = startup;
  return (
    <div>
      <p class="facts">
        <span>
          start-up <b>{ms(startup.ms)}</b>
        </span>
        <span>
          <b>{pct(startup.share)}</b> of {ms(startup.run_ms)}
        </span>
        <span>before the first recorded event {ms(startup.before_ms)}</span>
        {startup.imports_reason && (
          <span>
            imports are not known: <CodeText text={startup.imports_reason} />
          </span>
        )}
      </p>
      <Parts title="Start-up" parts={startup.parts} />
      {warmup.parts.length > 0 && (
        <Parts title={`${plural(warmup.steps, "warm-up step")}, more than steady steps`} parts={warmup.parts} />
      )}
    </div>
  );
}
