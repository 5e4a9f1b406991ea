// SPDX-License-Identifier: Apache-2.0
// One run: what it is, its verdict, and a tab for each way to look at it. A tab asks for its data when it is opened.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { CatalogRun, ShowReply } from "../../data/generated";
import { capitalised, cut, ms } from "../../widgets/format";
import { bindKeys } from "../keys";
import { goTo } from "../navigation";
import type { RunTab } from "../route";
import { RUN_TABS, runAddress } from "../route";
import { deviceText } from "../runs/run_list";
import type { Loading, Reload } from "../session";
import { useCall } from "../session";
import { SqlPane } from "../sql/sql_pane";
import { Loaded, ProblemNote } from "../states";
import { TimelineTab } from "../timeline/timeline_tab";
import { CountersTab, MemoryTab } from "./counter_tabs";
import { FilesTab } from "./files_tab";
import { Overview } from "./overview";
import { FlameTab, IdleTab, KernelsTab, OperatorsTab, RanksTab, RooflineTab, StagesTab } from "./tabs";

type Shown = [Loading<ShowReply>, Reload];

const LABELS: Partial<Record<RunTab, string>> = { sql: "SQL" };

// Most tabs ask for what they show; these few show what is known about the run itself.
function withShow(from: Shown, body: (show: ShowReply) => ComponentChildren): ComponentChildren {
  return (
    <Loaded what="the run" from={from}>
      {body}
    </Loaded>
  );
}

function bodyOf(tab: string, run: string, shown: Shown): ComponentChildren {
  switch (tab as RunTab) {
    case "overview":
      return <Overview run={run} />;
    case "timeline":
      return <TimelineTab run={run} />;
    case "operators":
      return <OperatorsTab run={run} />;
    case "kernels":
      return <KernelsTab run={run} />;
    case "flame":
      return <FlameTab run={run} />;
    case "roofline":
      return <RooflineTab run={run} />;
    case "stages":
      return <StagesTab run={run} />;
    case "idle":
      return <IdleTab run={run} />;
    case "memory":
      return withShow(shown, (show) => <MemoryTab show={show} />);
    case "ranks":
      return <RanksTab run={run} />;
    case "counters":
      return withShow(shown, (show) => <CountersTab show={show} />);
    case "sql":
      return <SqlPane run={run} />;
    case "files":
      return withShow(shown, (show) => <FilesTab show={show} />);
  }
}

const nameOf = (run: CatalogRun): string => run.model || run.source_name || run.run_id;

function Facts({ run }: { run: CatalogRun }) {
  const facts = [
    deviceText(run),
    run.precision,
    run.backend,
    ms(run.wall_ns / 1e6),
    run.adapter,
    new Date(run.created_at_ns / 1e6).toISOString().slice(0, 16).replace("T", " "),
  ];
  return (
    <p class="facts">
      {facts.filter(Boolean).map((fact) => (
        <span key={fact}>{cut(fact, 80)}</span>
      ))}
      {Object.entries(run.tags).map(([key, value]) => (
        <span class="tag" key={key}>
          {cut(`${key}=${value}`, 60)}
        </span>
      ))}
      <code title={run.run_id}>{run.run_id.slice(0, 13)}</code>
      <a href={`/compare?b=${encodeURIComponent(run.run_id)}`}>Compare…</a>
    </p>
  );
}

function Tabs({ run, tab }: { run: string; tab: string }) {
  const list = useRef<HTMLElement>(null);
  useEffect(() => {
    list.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
    const step = (by: number) => {
      const at = (RUN_TABS.indexOf(tab as RunTab) + by + RUN_TABS.length) % RUN_TABS.length;
      goTo(runAddress(run, RUN_TABS[at]));
    };
    return bindKeys([
      { keys: "[", about: "Previous tab of the run", run: () => step(-1) },
      { keys: "]", about: "Next tab of the run", run: () => step(1) },
    ]);
  }, [run, tab]);
  return (
    <nav class="tabs" aria-label="Parts of the run" ref={list}>
      {RUN_TABS.map((name) => (
        <a key={name} href={runAddress(run, name)} aria-current={name === tab ? "page" : undefined}>
          {LABELS[name] ?? capitalised(name)}
        </a>
      ))}
    </nav>
  );
}

export function RunView({ run, tab }: { run: string; tab: string }) {
  const shown = useCall("show", { run });
  const [now, again] = shown;
  const name = now.state === "loaded" ? nameOf(now.reply.run) : run;
  useEffect(() => {
    document.title = `${cut(name, 60)} – NeuroLens`;
  }, [name]);
  return (
    <>
      <p class="crumbs">
        <a href="/">Runs</a> / <span>{cut(name, 60)}</span>
      </p>
      {now.state === "failed" ? (
        <ProblemNote problem={now.problem} onRetry={() => again()} />
      ) : (
        <>
          <h1 class="runname">{cut(name, 120)}</h1>
          {now.state === "loaded" ? (
            <>
              <Facts run={now.reply.run} />
              {now.reply.warnings.map((w) => (
                <p class="loss bad" key={w}>
                  {cut(w, 400)}
                </p>
              ))}
            </>
          ) : (
            <p class="facts muted">…</p>
          )}
          <Tabs run={run} tab={tab} />
          <div class={`tab ${tab}`}>{bodyOf(tab, run, shown)}</div>
        </>
      )}
    </>
  );
}
