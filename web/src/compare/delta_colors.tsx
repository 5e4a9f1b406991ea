// SPDX-License-Identifier: Apache-2.0
// The colours of faster and slower in the current theme, and their legend.
import { color } from "../widgets/theme";
import { deltaScale } from "./delta";

export const themeDeltaScale = (): ((value: number) => string) =>
  deltaScale({ faster: color("--faster"), same: color("--same"), slower: color("--slower") });

export function DeltaLegend() {
  return (
    <p class="scale">
      <span>faster in B</span>
      <i style={{ background: "linear-gradient(90deg, var(--faster), var(--same), var(--slower))" }} />
      <span>slower in B</span>
    </p>
  );
}
