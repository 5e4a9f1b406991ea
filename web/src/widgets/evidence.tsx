// SPDX-License-Identifier: Apache-2.0
// A fact that supports a finding or a change, with the row it was read from.
import type { Evidence } from "../data/replies";
import { evidenceName, evidencePlace, evidenceValue } from "./evidence_text";
import { cut } from "./format";

const SHOWN = 50;

function EvidenceItem({ evidence }: { evidence: Evidence }) {
  const value = evidenceValue(evidence);
  const place = evidencePlace(evidence);
  return (
    <li>
      {cut(evidenceName(evidence), 200)}
      {value && (
        <>
          {" "}
          <b>{value}</b>
        </>
      )}
      {place && <span class="muted"> ({cut(place, 80)})</span>}
    </li>
  );
}

export function EvidenceList({ evidence }: { evidence: Evidence[] }) {
  return (
    <ul>
      {evidence.slice(0, SHOWN).map((e, i) => (
        <EvidenceItem key={i} evidence={e} />
      ))}
    </ul>
  );
}
