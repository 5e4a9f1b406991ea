// SPDX-License-Identifier: Apache-2.0
// Light or dark: the system's choice until the reader makes one. Canvases redraw on "themechange".
import { useEffect, useState } from "preact/hooks";

const STORAGE_KEY = "neurolens-theme";
const DARK = "(prefers-color-scheme: dark)";

const announce = () => window.dispatchEvent(new Event("themechange"));

export function startTheme(): void {
  try {
    const kept = localStorage.getItem(STORAGE_KEY);
    if (kept === "dark" || kept === "light") document.documentElement.dataset.theme = kept;
  } catch {
    // A page opened from disk may have no storage: it follows the system.
  }
  matchMedia(DARK).addEventListener("change", announce);
}

export function isDark(): boolean {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia(DARK).matches;
}

export function toggleTheme(): void {
  const next = isDark() ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  try {
    localStorage.setItem(STORAGE_KEY, next);
  } catch {
    // Without storage the choice lasts as long as the page.
  }
  announce();
}

// A number that changes when the colours do.
export function useTheme(): number {
  const [version, setVersion] = useState(0);
  useEffect(() => {
    const listener = () => setVersion((v) => v + 1);
    window.addEventListener("themechange", listener);
    return () => window.removeEventListener("themechange", listener);
  }, []);
  return version;
}

// The current value of a CSS colour variable: canvases cannot read variables.
let probe: HTMLElement | undefined;
export function color(variable: string): string {
  if (!probe) {
    probe = document.createElement("span");
    probe.hidden = true;
    document.body.append(probe);
  }
  probe.style.color = `var(${variable})`;
  return getComputedStyle(probe).color;
}
