// SPDX-License-Identifier: Apache-2.0
// Light or dark: the system's choice until the reader makes one. Canvases redraw on "themechange".

const KEY = "neurolens-theme";

export function startTheme(): void {
  try {
    const kept = localStorage.getItem(KEY);
    if (kept === "dark" || kept === "light") document.documentElement.dataset.theme = kept;
  } catch {
    // file:// pages may have no storage: the system's choice it is.
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", announce);
}

const announce = () => window.dispatchEvent(new Event("themechange"));

export function isDark(): boolean {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

export function toggleTheme(): void {
  const next = isDark() ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  try {
    localStorage.setItem(KEY, next);
  } catch {
    // as above
  }
  announce();
}

// The colour a CSS variable stands for now: canvases cannot read variables.
const probe = document.createElement("span");
export function color(variable: string): string {
  if (!probe.isConnected) {
    probe.hidden = true;
    document.body.append(probe);
  }
  probe.style.color = `var(${variable})`;
  return getComputedStyle(probe).color;
}
