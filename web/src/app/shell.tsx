// SPDX-License-Identifier: Apache-2.0
// The frame of the application: header with the views, the keys, messages, and the view that the address names.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { isDark, toggleTheme } from "../widgets/theme";
import { BenchView } from "./bench/bench_view";
import { CompareView } from "./compare/compare_view";
import type { KeyBinding } from "./keys";
import { bindKeys, boundKeys } from "./keys";
import { LiveView } from "./live/live_view";
import { LoginView, UserMenu } from "./login";
import { goTo, useRoute } from "./navigation";
import type { Route, ViewName } from "./route";
import { RunView } from "./run/run_view";
import { RunsView } from "./runs/runs_view";
import type { Notice } from "./session";
import { connection, notices, useChannel } from "./session";
import { SqlView } from "./sql/sql_view";
import { EmptyNote } from "./states";
import { SystemView } from "./system/system_view";
import { TrendsView } from "./trends/trends_view";

const VIEWS: { view: ViewName; path: string; label: string; key: string }[] = [
  { view: "runs", path: "/", label: "Runs", key: "r" },
  { view: "compare", path: "/compare", label: "Compare", key: "c" },
  { view: "trends", path: "/trends", label: "Trends", key: "t" },
  { view: "sql", path: "/sql", label: "SQL", key: "s" },
  { view: "bench", path: "/bench", label: "Bench", key: "b" },
  { view: "live", path: "/live", label: "Live", key: "l" },
  { view: "system", path: "/system", label: "System", key: "y" },
];
const NOTICE_MS = 6000;

function viewOf(route: Route): ComponentChildren {
  switch (route.view) {
    case "runs":
      return <RunsView />;
    case "run":
      return <RunView key={route.run} run={route.run} tab={route.tab} />;
    case "compare":
      return <CompareView />;
    case "trends":
      return <TrendsView />;
    case "sql":
      return <SqlView />;
    case "bench":
      return <BenchView />;
    case "live":
      return <LiveView />;
    case "system":
      return <SystemView />;
    case "login":
      return <LoginView />;
    case "missing":
      return (
        <EmptyNote title="Page not found">
          <p>
            The address <code>{location.pathname.slice(0, 200)}</code> names no view. <a href="/">All runs</a>
          </p>
        </EmptyNote>
      );
  }
}

function focusSearch(): void {
  document.querySelector<HTMLInputElement>("[data-search]")?.focus();
}

function KeysDialog({ onClose }: { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  // Before it is painted: from then on Escape closes it.
  useLayoutEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="keys" aria-label="Keys" onClose={onClose}>
      <h2>Keys</h2>
      <table>
        <tbody>
          {boundKeys().map((b) => (
            <tr key={b.keys}>
              <td>
                {b.keys.split(" ").map((k) => (
                  <kbd key={k}>{k}</kbd>
                ))}
              </td>
              <td>{b.about}</td>
            </tr>
          ))}
          <tr>
            <td>
              <kbd>↑</kbd>
              <kbd>↓</kbd>
              <kbd>Enter</kbd>
              <kbd>Space</kbd>
            </td>
            <td>In a table that has the focus: move, open, select</td>
          </tr>
        </tbody>
      </table>
      <button type="button" onClick={() => dialog.current?.close()}>
        Close
      </button>
    </dialog>
  );
}

function Notices() {
  const [list, setList] = useState<Notice[]>([]);
  const [lost, setLost] = useState(false);
  useChannel(connection, (state) => setLost(state === "lost"));
  useChannel(notices, (notice) => {
    setList((all) => [...all.slice(-2), notice]);
    setTimeout(() => setList((all) => all.filter((n) => n !== notice)), NOTICE_MS);
  });
  return (
    <div class="notices" role="status" aria-live="polite">
      {lost && <p class="bad">The server does not answer. Reconnecting…</p>}
      {list.map((n, i) => (
        <p key={i} class={n.kind}>
          {n.text}
        </p>
      ))}
    </div>
  );
}

function ThemeSwitch() {
  const [dark, setDark] = useState(isDark());
  return (
    <button
      type="button"
      id="theme"
      aria-label={`Switch to ${dark ? "light" : "dark"} colours`}
      onClick={() => {
        toggleTheme();
        setDark(isDark());
      }}
    >
      {dark ? "Light" : "Dark"}
    </button>
  );
}

export function App() {
  const route = useRoute();
  const [showsKeys, setShowsKeys] = useState(false);
  const main = useRef<HTMLElement>(null);
  const nav = useRef<HTMLElement>(null);
  useEffect(() => {
    const bindings: KeyBinding[] = [
      { keys: "?", about: "List the keys", run: () => setShowsKeys(true) },
      { keys: "/", about: "Search in this view", run: focusSearch },
      ...VIEWS.map(({ key, path, label }) => ({ keys: `g ${key}`, about: `Go to ${label}`, run: () => goTo(path) })),
    ];
    return bindKeys(bindings);
  }, []);
  const current = route.view === "run" ? "runs" : route.view;
  // On a phone the views do not fit beside each other.
  // biome-ignore lint/correctness/useExhaustiveDependencies: another view is another current link
  useEffect(() => {
    const link = nav.current?.querySelector<HTMLElement>("[aria-current]");
    if (nav.current && link) nav.current.scrollLeft = link.offsetLeft - nav.current.offsetLeft - 40;
  }, [current]);
  return (
    <>
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        Skip to the content
      </button>
      <header>
        <div class="wide">
          <a class="brand" href="/">
            NeuroLens
          </a>
          <nav aria-label="Views" ref={nav}>
            {VIEWS.map(({ view, path, label }) => (
              <a key={view} href={path} aria-current={view === current ? "page" : undefined}>
                {label}
              </a>
            ))}
          </nav>
          <button type="button" aria-label="Keys" title="Keys (?)" onClick={() => setShowsKeys(true)}>
            ?
          </button>
          <UserMenu />
          <ThemeSwitch />
        </div>
      </header>
      <main class="wide app" id="main" tabIndex={-1} ref={main} data-view={route.view}>
        {viewOf(route)}
      </main>
      <Notices />
      {showsKeys && <KeysDialog onClose={() => setShowsKeys(false)} />}
    </>
  );
}
