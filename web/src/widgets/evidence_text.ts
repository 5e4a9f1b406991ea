// SPDX-License-Identifier: Apache-2.0
import type { Evidence } from "../data/replies";
import { count, ms, pct, plain, short3 } from "./format";

export function evidenceValue({ value, unit }: Pick<Evidence, "value" | "unit">): string {
  if (value === null) return "";
  if (unit === "ratio") return pct(value);
  if (unit === "ms") return ms(value);
  return unit === "count" || !unit ? count(Number(value.toPrecision(6))) : `${short3(value)} ${unit}`;
}

// Features of the analysis are named scope.feature_name; the words suffice.
export function evidenceName({ what }: Pick<Evidence, "what">): string {
  const scope = /^(run|op|kernel|stage|features)\./.exec(what);
  return scope ? plain(what.slice(scope[0].length)) : what;
}

export function evidencePlace({ table, row }: Pick<Evidence, "table" | "row">): string {
  if (!table) return "";
  return row === null ? table : `${table} row ${row}`;
}
