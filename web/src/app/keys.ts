// SPDX-License-Identifier: Apache-2.0
// Keys of the application: single ones, and "g" followed by the letter of a view. Keys typed into a field are text.

export interface KeyBinding {
  keys: string; // "g r", "?", "["
  about: string;
  run: () => void;
}

// What the pressed key completes, given the key before it; "" when it completes nothing.
export function sequence(before: string, key: string, known: ReadonlySet<string>): string {
  const both = `${before} ${key}`;
  if (before && known.has(both)) return both;
  return known.has(key) ? key : "";
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || target.matches("textarea, select, input:not([type=checkbox]):not([type=radio])"));

// Layers of bindings: those of the shell, then those of the view that is shown, which win.
const layers = new Set<KeyBinding[]>();

export function bindKeys(bindings: KeyBinding[]): () => void {
  layers.add(bindings);
  return () => {
    layers.delete(bindings);
  };
}

export function boundKeys(): KeyBinding[] {
  const out = new Map<string, KeyBinding>();
  for (const layer of layers) for (const binding of layer) out.set(binding.keys, binding);
  return [...out.values()];
}

export function startKeys(): void {
  let before = "";
  document.addEventListener("pointerdown", () => {
    before = "";
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (document.querySelector("dialog[open]")) return;
    if (isTyping(event.target)) {
      if (event.key === "Escape") (event.target as HTMLElement).blur();
      return;
    }
    const bindings = new Map(boundKeys().map((b) => [b.keys, b]));
    const keys = sequence(before, event.key, new Set(bindings.keys()));
    before = keys ? "" : event.key;
    const binding = bindings.get(keys);
    if (!binding) return;
    event.preventDefault();
    binding.run();
  });
}
