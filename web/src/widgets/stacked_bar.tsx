// SPDX-License-Identifier: Apache-2.0
// Shares of a whole as one bar, with a legend that gives each its time.
import { cut, ms, pct } from "./format";
import "./stacked_bar.css";

export interface Slice {
  key: string;
  label: string;
  ms: number;
  share: number;
  color: string;
}

const LABEL_FROM_SHARE = 0.07;

export function StackedBar({ slices, name }: { slices: Slice[]; name: string }) {
  return (
    <div>
      <div class="stack" role="img" aria-label={name}>
        {slices.map((s) => (
          <span
            key={s.key}
            style={{ flexGrow: s.share, background: s.color }}
            title={`${s.label}: ${ms(s.ms)}, ${pct(s.share)}`}
          >
            {s.share > LABEL_FROM_SHARE ? pct(s.share, 0) : ""}
          </span>
        ))}
      </div>
      <table class="parts">
        <tbody>
          {slices.map((s) => (
            <tr key={s.key}>
              <td>
                <i style={{ background: s.color }} />
                {cut(s.label, 120)}
              </td>
              <td class="num">{ms(s.ms)}</td>
              <td class="num">{pct(s.share)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
