// SPDX-License-Identifier: Apache-2.0
// The current address as state: views read their fields from it and write them back. A choice of the reader makes an
// entry in the history, typing and zooming replace the current one.
import { useCallback, useEffect, useState } from "preact/hooks";
import type { Route } from "./route";
import { changedFields, parseRoute } from "./route";

const MOVED = "neurolens-moved";

const here = (): Route => parseRoute(location.pathname, location.search);

export function goTo(to: string, replace = false): void {
  if (to === location.pathname + location.search) return;
  if (replace) history.replaceState(null, "", to);
  else history.pushState(null, "", to);
  window.dispatchEvent(new Event(MOVED));
}

export function useRoute(): Route {
  const [route, setRoute] = useState(here);
  useEffect(() => {
    const update = () => setRoute(here());
    window.addEventListener("popstate", update);
    window.addEventListener(MOVED, update);
    return () => {
      window.removeEventListener("popstate", update);
      window.removeEventListener(MOVED, update);
    };
  }, []);
  return route;
}

export function changeFields(changes: Record<string, string | number | null>, replace = false): void {
  goTo(location.pathname + changedFields(new URLSearchParams(location.search), changes), replace);
}

// A field of the address, and what sets it. `typed`: the history keeps only the last of its values.
export function useField(name: string, initial = "", typed = false): [string, (value: string) => void] {
  const route = useRoute();
  const set = useCallback(
    (value: string) => changeFields({ [name]: value === initial ? null : value }, typed),
    [name, initial, typed],
  );
  return [route.fields.get(name) ?? initial, set];
}

const isPlainClick = (e: MouseEvent): boolean =>
  e.button === 0 && !e.metaKey && !e.ctrlKey && !e.shiftKey && !e.altKey && !e.defaultPrevented;

// Links of the application move inside of the page; all others are the browser's.
export function followLinks(): void {
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (!link || !isPlainClick(event) || link.target || link.hasAttribute("download")) return;
    if (link.origin !== location.origin || link.getAttribute("href")?.startsWith("#")) return;
    if (parseRoute(link.pathname, link.search).view === "missing") return;
    event.preventDefault();
    goTo(link.pathname + link.search);
    window.scrollTo(0, 0);
  });
}
