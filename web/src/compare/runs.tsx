// SPDX-License-Identifier: Apache-2.0
// The runs of both sides.
import type { CompareFacts } from "../data/replies";
import { ms } from "../widgets/format";
import { SortTable } from "../widgets/table";
import { runRows } from "./run_rows";

export function Runs({ comparison }: { comparison: CompareFacts }) {
  return (
    <SortTable
      id="runs"
      rows={runRows(comparison)}
      sort=""
      columns={[
        { key: "side", label: "Side", text: true, value: (r) => r.side },
        { key: "name", label: "Source", text: true, value: (r) => r.name ?? "" },
        { key: "run", label: "Run", text: true, value: (r) => r.run_id },
        { key: "model", label: "Model", text: true, value: (r) => r.model ?? "" },
        { key: "device", label: "Device", text: true, value: (r) => r.device ?? "" },
        { key: "wall", label: "Wall time", value: (r) => r.wall_ms, show: (r) => ms(r.wall_ms) },
      ]}
    />
  );
}
