// SPDX-License-Identifier: Apache-2.0
// The stages of a workload, such as prefill and decode.
import type { StageSummary, StagesSection } from "../data/replies";
import { count, cut, ms, pct } from "../widgets/format";
import { SortTable } from "../widgets/table";

const REASONS_SHOWN = 4;

// Why a stage has no MFU or MBU, each reason once.
function missingReasons(stages: StageSummary[]): string[] {
  const reasons = stages.flatMap((s) => [s.mfu === null ? s.mfu_reason : null, s.mbu === null ? s.mbu_reason : null]);
  return [...new Set(reasons)].filter((r): r is string => !!r).slice(0, REASONS_SHOWN);
}

export function Stages({ section }: { section: StagesSection }) {
  const { stages, ttft_ms: ttft, tpot_ms: tpot } = section;
  const peakSource = stages.find((s) => s.peak.source)?.peak.source;
  return (
    <div>
      {(ttft !== null || tpot !== null) && (
        <p class="facts">
          {ttft !== null && (
            <span>
              time to first token <b>{ms(ttft)}</b>
            </span>
          )}
          {tpot !== null && (
            <span>
              time per output token <b>{ms(tpot)}</b>
            </span>
          )}
        </p>
      )}
      <SortTable
        id="stages"
        rows={stages}
        sort="total"
        columns={[
          { key: "stage", label: "Stage", text: true, value: (s) => s.name + (s.inferred ? " (inferred)" : "") },
          { key: "count", label: "Count", value: (s) => s.count, show: (s) => count(s.count) },
          { key: "total", label: "Total", value: (s) => s.total_ms, show: (s) => ms(s.total_ms) },
          { key: "p50", label: "p50", value: (s) => s.p50_ms, show: (s) => ms(s.p50_ms) },
          { key: "p95", label: "p95", value: (s) => s.p95_ms, show: (s) => ms(s.p95_ms) },
          { key: "p99", label: "p99", value: (s) => s.p99_ms, show: (s) => ms(s.p99_ms) },
          {
            key: "tps",
            label: "Tokens/s",
            value: (s) => s.tokens_per_s,
            show: (s) => count(s.tokens_per_s && Number(s.tokens_per_s.toPrecision(3))),
          },
          { key: "kernels", label: "Kernels", value: (s) => s.kernels, show: (s) => count(s.kernels) },
          { key: "launch", label: "Launch", value: (s) => s.launch_share, show: (s) => pct(s.launch_share) },
          { key: "idle", label: "Idle", value: (s) => s.idle_share, show: (s) => pct(s.idle_share) },
          {
            key: "mfu",
            label: "MFU",
            value: (s) => s.mfu,
            show: (s) => pct(s.mfu),
            title: "Model FLOPs / (dense peak × time)",
          },
          {
            key: "mbu",
            label: "MBU",
            value: (s) => s.mbu,
            show: (s) => pct(s.mbu),
            title: "Bytes a step must read / (bandwidth × time)",
          },
        ]}
      />
      {missingReasons(stages).map((reason) => (
        <p class="note" key={reason}>
          Not assessed: {cut(reason, 300)}
        </p>
      ))}
      {peakSource && <p class="note">Peaks: {cut(peakSource, 200)}.</p>}
    </div>
  );
}
