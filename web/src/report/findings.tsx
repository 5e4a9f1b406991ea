// SPDX-License-Identifier: Apache-2.0
// What bounds the run, what the rules found, what the profiler itself suggests, and what could not be assessed.
import type { ComponentChildren } from "preact";
import type { Diagnosis, Finding, FindingsSection, ToolFinding } from "../data/replies";
import { CodeText } from "../widgets/code_text";
import { EvidenceList } from "../widgets/evidence";
import { focusRow } from "../widgets/focus";
import { capitalised, cut, ms, pct, plain, plural } from "../widgets/format";
import "./findings.css";

const TOOL_FINDINGS_SHOWN = 50;

// Where a page that has more than one view leads to; the report has its tables on the same page.
export interface FindingLinks {
  rowAddress: (table: "operators" | "kernels", name: string) => string;
  places: (finding: Finding) => ComponentChildren;
}

interface RowLinkProps {
  table: "operators" | "kernels";
  name: string;
  links?: FindingLinks;
}

function RowLink({ table, name, links }: RowLinkProps) {
  const onClick = (event: MouseEvent) => {
    if (links) return;
    event.preventDefault();
    focusRow({ table, name });
  };
  return (
    <a href={links ? links.rowAddress(table, name) : `#${table}`} class="rowlink" onClick={onClick}>
      {cut(name, 90)}
    </a>
  );
}

function Gain({ finding: f }: { finding: Finding }) {
  if (f.gain_ms !== null && f.gain_share !== null && f.gain_share > 0)
    return (
      <span>
        saves about <b>{ms(f.gain_ms.expected)}</b> of {f.phase === "whole" ? "the run" : "a step"}, or{" "}
        {pct(f.gain_share, f.gain_share < 0.01 ? 1 : 0)}; between {ms(f.gain_ms.low)} and {ms(f.gain_ms.high)}
      </span>
    );
  if (f.impact_ms === null) return null;
  if (f.impact_ms > 0)
    return (
      <span>
        could save up to <b>{ms(f.impact_ms)}</b>
      </span>
    );
  return f.counted_in.length > 0 ? <span>cost included in {cut(f.counted_in.join(", "), 120)}</span> : null;
}

function Reference({ text }: { text: string }) {
  return (
    <p class="note">
      {text.startsWith("https://") ? (
        <a href={text} rel="noreferrer noopener">
          {cut(text, 120)}
        </a>
      ) : (
        cut(text, 200)
      )}
    </p>
  );
}

function FindingCard({ finding: f, number, links }: { finding: Finding; number: number; links?: FindingLinks }) {
  return (
    <article class={`finding ${f.severity}`} id={`finding-${number}`}>
      <h3>
        <span class="badge">{f.severity}</span>
        {cut(capitalised(f.title || f.message), 600)}
      </h3>
      {f.title && (
        <p class="message">
          <CodeText text={cut(f.message, 800)} />
        </p>
      )}
      <p class="facts">
        <Gain finding={f} />
        <span>confidence {pct(f.confidence, 0)}</span>
        {f.stage && <span>stage {cut(f.stage, 60)}</span>}
        {f.module && <span>module {cut(f.module, 90)}</span>}
        {f.op && (
          <span>
            operator <RowLink table="operators" name={f.op} links={links} />
          </span>
        )}
        {f.kernel && (
          <span>
            kernel <RowLink table="kernels" name={f.kernel} links={links} />
          </span>
        )}
        {links?.places(f)}
        <span class="muted">rule {cut(f.rule, 80)}</span>
      </p>
      {f.suggestions.length > 0 && (
        <ol>
          {f.suggestions.map((s) => (
            <li key={s}>
              <CodeText text={cut(s, 800)} />
            </li>
          ))}
        </ol>
      )}
      {f.refs.map((ref) => (
        <Reference key={ref} text={ref} />
      ))}
      {f.evidence.length > 0 && (
        <details>
          <summary>Evidence ({f.evidence.length})</summary>
          <EvidenceList evidence={f.evidence} />
        </details>
      )}
    </article>
  );
}

function DiagnosisView({ diagnosis: d }: { diagnosis: Diagnosis }) {
  return (
    <div class="diagnosis">
      <p>
        Diagnosis{d.phase && " of the steady phase"}: <b>{plain(cut(d.class, 60))}</b>
        {d.confidence > 0 && `, confidence ${pct(d.confidence, 0)}`}
        {d.nearest && `; closest match: ${plain(cut(d.nearest, 60))}`}
      </p>
      {d.settle.length > 0 && (
        <p class="note">
          Needed for a diagnosis: <CodeText text={cut(d.settle.join("; "), 500)} />
        </p>
      )}
      {d.evidence.length > 0 && <EvidenceList evidence={d.evidence} />}
    </div>
  );
}

function toolEstimate(f: ToolFinding): string {
  if (f.estimated_ms !== null) return `, estimated saving ${ms(f.estimated_ms)}`;
  if (f.speedup_pct === null) return "";
  return `, estimated speedup up to ${f.speedup_pct.toFixed(0)} %${f.scope ? ` (${cut(f.scope, 40)})` : ""}`;
}

function ToolFindings({ findings }: { findings: ToolFinding[] }) {
  return (
    <details>
      <summary>
        {plural(findings.length, "suggestion")} from {cut(findings[0].tool, 60)}, not verified by NeuroLens
      </summary>
      <ul>
        {findings.slice(0, TOOL_FINDINGS_SHOWN).map((f, i) => (
          <li key={i}>
            <b>{cut(f.kernel, 80)}</b> [{cut(f.rule, 60)}], {ms(f.kernel_ms)}
            {toolEstimate(f)}. <span class="muted">{cut(f.message, 400)}</span>
          </li>
        ))}
      </ul>
    </details>
  );
}

function NotAssessed({ rules }: { rules: FindingsSection["not_assessed"] }) {
  return (
    <details>
      <summary>{plural(rules.length, "rule")} not assessed</summary>
      <ul>
        {rules.map((r) => (
          <li key={r.rule}>
            {cut(r.rule, 80)}: needs {cut(r.needs.join(", "), 200)}
            {r.advice && (
              <span class="muted">
                . <CodeText text={cut(r.advice, 300)} />
              </span>
            )}
          </li>
        ))}
      </ul>
    </details>
  );
}

export function Findings({ section, links }: { section: FindingsSection; links?: FindingLinks }) {
  return (
    <div>
      <DiagnosisView diagnosis={section.diagnosis} />
      {section.findings.length === 0 && <p class="note">No rule reported a problem.</p>}
      {section.findings.map((f, i) => (
        <FindingCard key={i} finding={f} number={i + 1} links={links} />
      ))}
      {section.tool_findings.length > 0 && <ToolFindings findings={section.tool_findings} />}
      {section.not_assessed.length > 0 && <NotAssessed rules={section.not_assessed} />}
    </div>
  );
}
