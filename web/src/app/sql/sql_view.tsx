// SPDX-License-Identifier: Apache-2.0
// SQL over one run, or over all runs of the store.
import { useEffect } from "preact/hooks";
import { cut } from "../../widgets/format";
import { useField } from "../navigation";
import { useNewestRuns } from "../runs/use_runs";
import { Loaded } from "../states";
import { SqlPane } from "./sql_pane";

export function SqlView() {
  const [run, setRun] = useField("run", "@latest");
  const list = useNewestRuns(500);
  useEffect(() => {
    document.title = "SQL – NeuroLens";
  }, []);
  return (
    <>
      <div class="title">
        <h1>SQL</h1>
      </div>
      <Loaded what="the runs" from={list}>
        {({ runs }) => (
          <div class="filters">
            <label>
              <span>Run</span>
              <select value={run} onChange={(e) => setRun(e.currentTarget.value)}>
                <option value="@latest">newest run</option>
                <option value="@all">all runs</option>
                {run.startsWith("@") || runs.some((r) => r.run_id === run) ? null : (
                  <option value={run}>{cut(run, 60)}</option>
                )}
                {runs.map((r) => (
                  <option key={r.run_id} value={r.run_id}>
                    {cut(r.model || r.source_name, 40)} · {r.short_id}
                  </option>
                ))}
              </select>
            </label>
          </div>
        )}
      </Loaded>
      <SqlPane key={run} run={run} />
    </>
  );
}
