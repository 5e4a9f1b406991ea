// SPDX-License-Identifier: Apache-2.0
// A few values in the space of a word.

const WIDTH = 84;
const HEIGHT = 20;

export function Sparkline({ values, label }: { values: number[]; label: string }) {
  const low = Math.min(...values);
  const high = Math.max(...values);
  const x = (i: number) => 2 + (i / Math.max(1, values.length - 1)) * (WIDTH - 4);
  const y = (v: number) => (high > low ? HEIGHT - 3 - ((v - low) / (high - low)) * (HEIGHT - 6) : HEIGHT / 2);
  const last = values.length - 1;
  return (
    <svg class="spark" width={WIDTH} height={HEIGHT} role="img" aria-label={label}>
      <polyline points={values.map((v, i) => `${x(i).toFixed(1)},${y(v).toFixed(1)}`).join(" ")} />
      <circle cx={x(last)} cy={y(values[last])} r={2} />
    </svg>
  );
}
