// SPDX-License-Identifier: Apache-2.0
// The rows of a query, of any number.
import { useMemo, useState } from "preact/hooks";
import type { QueryReply } from "../../data/generated";
import { count, cut, ms, plural } from "../../widgets/format";
import type { SortOrder } from "../../widgets/sort_rows";
import { sortRows } from "../../widgets/sort_rows";
import type { GridColumn } from "../grid";
import { Grid } from "../grid";
import { ProblemNote } from "../states";
import { SaveButtons, useSaved } from "./save_result";

type Cell = null | boolean | number | string;
type Row = Cell[];

const CELL_CHARACTERS = 120;
const NUMBERS = /^(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DOUBLE|FLOAT|DECIMAL.*)$/;

function cellText(cell: Cell | undefined): string {
  if (cell === null || cell === undefined) return "∅";
  if (typeof cell === "number") return String(Number.isInteger(cell) ? cell : Number(cell.toPrecision(6)));
  return cut(String(cell), CELL_CHARACTERS);
}

export function ResultGrid({ run, sql, reply }: { run: string; sql: string; reply: QueryReply }) {
  const saving = useSaved(run, sql);
  const [order, setOrder] = useState<SortOrder>({ key: "", descending: true });
  const columns = useMemo(
    () =>
      reply.columns.map(
        (c, i): GridColumn<Row> => ({
          key: String(i),
          label: cut(c.name, 60),
          text: !NUMBERS.test(c.type),
          value: (row) => (typeof row[i] === "boolean" ? String(row[i]) : (row[i] as number | string | null)),
          show: (row) => <span class={row[i] === null ? "muted" : ""}>{cellText(row[i])}</span>,
          title: (row) => cut(String(row[i] ?? "null"), 2000),
        }),
      ),
    [reply],
  );
  const rows = useMemo(() => sortRows(reply.rows, columns, order), [reply, columns, order]);
  return (
    <>
      <div class="bar">
        <span role="status">
          {plural(reply.row_count, "row")} in {ms(reply.elapsed_ms)}
          {reply.truncated && `; only the first ${count(reply.rows.length)} are shown`}
          {reply.cut_cells > 0 && `; ${plural(reply.cut_cells, "long cell")} shortened`}
        </span>
        <SaveButtons saving={saving} />
      </div>
      {saving.problem && <ProblemNote problem={saving.problem} />}
      <Grid label="Result" rows={rows} columns={columns} rowKey={(_, at) => at} order={order} onOrder={setOrder} />
    </>
  );
}
