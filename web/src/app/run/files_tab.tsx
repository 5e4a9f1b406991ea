// SPDX-License-Identifier: Apache-2.0
// What the run was made of and what the store has of it: source files, tables, and what the import found.
import type { ShowReply } from "../../data/generated";
import type { Software, SourceFile } from "../../data/run_document";
import { bytes, count, cut, plain } from "../../widgets/format";
import { SortTable } from "../../widgets/table";
import { runAddress } from "../route";

interface DocumentParts {
  source?: { files?: SourceFile[]; tool?: string | null; tool_version?: string | null; command?: string[] | null };
  software?: Partial<Software>;
  notes?: string[];
}

// The value of a part of the document, whatever it is, in one line.
function valueText(value: unknown): string {
  if (value === null || value === undefined || value === "") return "–";
  return cut(typeof value === "object" ? JSON.stringify(value) : String(value), 300);
}

function Facts({ of }: { of: object }) {
  return (
    <table class="factlist">
      <tbody>
        {Object.entries(of).map(([name, value]) => (
          <tr key={name}>
            <th scope="row">{plain(cut(name, 60))}</th>
            <td>{valueText(value)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function FilesTab({ show }: { show: ShowReply }) {
  const document = (show.document ?? {}) as DocumentParts;
  const { files = [], ...source } = document.source ?? {};
  return (
    <>
      <section>
        <h2>Source</h2>
        <SortTable
          id="sources"
          rows={files}
          sort=""
          columns={[
            { key: "name", label: "File", text: true, value: (f) => f.name },
            { key: "bytes", label: "Size", value: (f) => f.bytes, show: (f) => bytes(f.bytes) },
            { key: "hash", label: "SHA-256", text: true, value: (f) => f.sha256, show: (f) => cut(f.sha256, 24) },
          ]}
        />
        <Facts of={source} />
      </section>
      <section>
        <h2>Software</h2>
        <Facts of={document.software ?? {}} />
      </section>
      <section>
        <h2>Tables</h2>
        <SortTable
          id="tables"
          rows={show.tables}
          sort="bytes"
          columns={[
            {
              key: "name",
              label: "Table",
              text: true,
              value: (t) => t.name,
              show: (t) => (
                <a href={runAddress(show.run.run_id, "sql", { q: `SELECT * FROM "${t.name}" LIMIT 1000` })}>{t.name}</a>
              ),
            },
            { key: "rows", label: "Rows", value: (t) => t.rows, show: (t) => count(t.rows) },
            { key: "bytes", label: "Stored", value: (t) => t.bytes, show: (t) => bytes(t.bytes) },
          ]}
        />
      </section>
      {show.import_log.length > 0 && (
        <section>
          <h2>What the import found</h2>
          <SortTable
            id="log"
            rows={show.import_log}
            sort="count"
            columns={[
              { key: "reason", label: "Reason", text: true, value: (e) => e.reason },
              { key: "severity", label: "Severity", text: true, value: (e) => plain(e.severity) },
              { key: "count", label: "Records", value: (e) => e.count, show: (e) => count(e.count) },
              { key: "advice", label: "Advice", text: true, value: (e) => e.advice ?? "" },
            ]}
          />
        </section>
      )}
    </>
  );
}
