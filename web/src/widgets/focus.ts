// SPDX-License-Identifier: Apache-2.0
// Findings and charts point at rows of the tables by name.

export interface Target {
  table: "operators" | "kernels";
  name: string;
}
type Listener = (target: Target) => void;
const listeners = new Set<Listener>();

export function onFocusRow(listener: Listener): () => void {
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
  };
}

export function focusRow(target: Target): void {
  for (const listener of listeners) listener(target);
}
