#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// timeline.mjs STORE [RUN]: the marks of the timeline of the web application on a large run, in Chromium with software rendering.
//
//     bench/timeline.py --events 100e6 --folder /tmp/large    # makes the store
//     node bench/web/timeline.mjs /tmp/large
//
// Prints one table; exit status 1 when a mark is missed. Deletes the cached overview of the run (STORE/derived) to measure what making it
// costs. Server, browser and this script share the machine. Needs the tools of the pages: web/check.sh installs them.
import { spawnSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { listening } from "../../web/serve.mjs";

const root = fileURLToPath(new URL("../../", import.meta.url));
const { chromium } = createRequire(`${root}web/package.json`)("playwright-core");
const program = process.env.NEUROLENS_BIN ?? `${root}build/release/neurolens`;
const [store, wanted] = process.argv.slice(2);
if (!store) {
  console.error("use: timeline.mjs STORE [RUN]");
  process.exit(2);
}

const MOVE_S = 10; // of moving and zooming, each
const MB = 1e6;
const marks = [];
const mark = (name, measured, goal = "", met = null) => marks.push({ name, measured, goal, met });
const quantile = (values, q) => values.sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(q * values.length))];
const round = (value, digits = 1) => Number(value.toFixed(digits)).toLocaleString("en");

function neurolens(...words) {
  const done = spawnSync(program, ["--store", store, ...words, "--json"], { encoding: "utf8", maxBuffer: 1e9 });
  if (done.status !== 0) throw new Error(done.stderr);
  return JSON.parse(done.stdout);
}

const serve = () => listening([program, "--store", store, "serve", "--listen", "127.0.0.1:0"]);
const ended = (process) =>
  new Promise((resolve) => {
    process.removeAllListeners("exit");
    process.on("exit", resolve);
    process.kill("SIGTERM");
  });

// In the page before its scripts: when the first picture with spans was drawn, and when it was complete.
function watchPictures() {
  window.marks = {};
  new MutationObserver(() => {
    const drawn = document.querySelector(".tl-canvas canvas")?.dataset.drawn;
    if (drawn !== "whole" || window.marks.asked) return;
    window.marks.asked = true;
    // The frame after the one that drew it: the picture is on the screen.
    requestAnimationFrame(() => {
      window.marks.whole_ms = performance.now();
    });
  }).observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ["data-drawn"] });
}

async function openTimeline(browser, base, run) {
  const context = await browser.newContext({ viewport: { width: 1600, height: 900 } });
  const page = await context.newPage();
  page.setDefaultTimeout(300_000);
  await page.addInitScript(watchPictures);
  await page.goto(`${base}/runs/${run}/timeline`);
  await page.waitForFunction(() => window.marks.whole_ms > 0);
  return { page, paint_ms: await page.evaluate(() => window.marks.whole_ms) };
}

// Turns the wheel on the canvas once per frame. `zoom`: in and out again; else to the right and back.
function turnWheel({ seconds, zoom }) {
  const canvas = document.querySelector(".tl-canvas canvas");
  const box = canvas.getBoundingClientRect();
  return new Promise((resolve) => {
    const times = [];
    const began = performance.now();
    const frame = () => {
      const now = performance.now();
      times.push(now);
      if (now - began > 1000 * seconds) return resolve(times);
      const forth = Math.floor((now - began) / 2500) % 2 === 0;
      canvas.dispatchEvent(
        new WheelEvent("wheel", {
          bubbles: true,
          cancelable: true,
          clientX: box.left + box.width * 0.4,
          clientY: box.top + 40,
          ctrlKey: zoom,
          deltaX: zoom ? 0 : forth ? 12 : -12,
          deltaY: zoom ? (forth ? -6 : 6) : 0,
        }),
      );
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  });
}

const SCRIPT = new Set(["FunctionCall", "FireAnimationFrame", "TimerFire", "EventDispatch", "RunMicrotasks", "XHRReadyStateChange", "EvaluateScript", "V8.GC", "MajorGC", "MinorGC"]);

// Time in scripts of each frame of the main thread, from the browser's own trace: outermost events only.
function scriptTimes(trace) {
  const events = JSON.parse(trace).traceEvents;
  const busiest = new Map();
  for (const e of events) if (e.name === "FireAnimationFrame") busiest.set(`${e.pid}:${e.tid}`, (busiest.get(`${e.pid}:${e.tid}`) ?? 0) + 1);
  const [thread] = [...busiest].sort((a, b) => b[1] - a[1])[0];
  const mine = events.filter((e) => `${e.pid}:${e.tid}` === thread && e.ph === "X").sort((a, b) => a.ts - b.ts || b.dur - a.dur);
  const frames = [];
  let end = 0;
  for (const e of mine) {
    if (e.name === "FireAnimationFrame" && (frames.length === 0 || e.ts - frames.at(-1).at > 4000)) frames.push({ at: e.ts, ms: 0 });
    if (!SCRIPT.has(e.name) || e.ts < end || frames.length === 0) continue;
    end = e.ts + e.dur;
    frames.at(-1).ms += e.dur / 1e3;
  }
  return frames.map((f) => f.ms);
}

async function moving(browser, page, what, zoom) {
  await browser.startTracing(page, { categories: ["devtools.timeline"] });
  const times = await page.evaluate(turnWheel, { seconds: MOVE_S, zoom });
  const script = scriptTimes((await browser.stopTracing()).toString());
  const gaps = times.slice(1).map((t, i) => t - times[i]);
  const rate = (1000 * gaps.length) / (times.at(-1) - times[0]);
  mark(`${what}: frames/s (longest frame ${round(Math.max(...gaps), 0)} ms)`, round(rate), ">= 30", rate >= 30);
  const median = quantile(script, 0.5);
  mark(`${what}: script time per frame, median (99 of 100 below ${round(quantile(script, 0.99))} ms)`, `${round(median, 2)} ms`, "<= 16 ms", median <= 16);
}

function status(pid, what) {
  const found = new RegExp(`^${what}:\\s+(\\d+) kB`, "m").exec(readFileSync(`/proc/${pid}/${what === "Pss" ? "smaps_rollup" : "status"}`, "utf8"));
  return Number(found[1]) * 1024;
}

async function pageMemory(browser, page, server) {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("HeapProfiler.collectGarbage");
  const { usedSize, backingStorageSize = 0 } = await cdp.send("Runtime.getHeapUsage");
  const processes = (await (await browser.newBrowserCDPSession()).send("SystemInfo.getProcessInfo")).processInfo;
  const pids = processes.filter((p) => p.type === "renderer").map((p) => p.id);
  const sizes = pids.map((pid) => ({ rss: status(pid, "VmRSS"), most: status(pid, "VmHWM"), own: status(pid, "Pss") })).sort((a, b) => b.rss - a.rss);
  mark("page: heap of scripts and array buffers after the moves", `${round((usedSize + backingStorageSize) / MB)} MB`);
  mark(`page: memory of its process, RSS (proportional ${round(sizes[0].own / MB, 0)} MB, most at any time ${round(sizes[0].most / MB, 0)} MB)`, `${round(sizes[0].rss / MB, 0)} MB`, "<= 300 MB", sizes[0].rss <= 300 * MB);
  mark("server: memory, RSS (most at any time)", `${round(status(server.pid, "VmRSS") / MB, 0)} MB (${round(status(server.pid, "VmHWM") / MB, 0)} MB)`);
}

async function tileAnswers(page) {
  const tiles = await page.evaluate(() =>
    performance
      .getEntriesByType("resource")
      .filter((r) => /\/timeline\?/.test(r.name) && r.responseEnd > 0)
      .map((r) => ({ ms: r.responseEnd - r.requestStart, bytes: r.encodedBodySize })),
  );
  const answered = tiles.filter((t) => t.bytes > 0);
  const ms = answered.map((t) => t.ms);
  const bytes = answered.map((t) => t.bytes);
  mark(`tiles over HTTP: ${answered.length}, median answer (99 of 100 below ${round(quantile(ms, 0.99))} ms; beside the page on the same cores)`, `${round(quantile(ms, 0.5))} ms`);
  mark("tiles over HTTP: largest as sent", `${round(Math.max(...bytes) / 1e3, 0)} kB`, "<= 200 kB", Math.max(...bytes) <= 200e3);
}

const run = wanted ?? neurolens("ls", "--limit", "1").runs[0].run_id;
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--enable-precise-memory-info", "--disable-background-networking"],
});
try {
  rmSync(`${store}/derived/${run}`, { recursive: true, force: true });
  let { server, base } = await serve();
  // What another reader waits for while the overview is made.
  const opening = openTimeline(browser, base, run);
  let waited_ms = 0;
  let isOpen = false;
  opening.then(() => {
    isOpen = true;
  });
  while (!isOpen) {
    const began = performance.now();
    await (await fetch(`${base}/api/v1/version`)).text();
    waited_ms = Math.max(waited_ms, performance.now() - began);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const cold = await opening;
  mark("first picture, the overview is made for it", `${round(cold.paint_ms / 1e3, 2)} s`);
  mark("longest wait of other requests meanwhile (/api/v1/version)", `${round(waited_ms, 0)} ms`, "<= 200 ms", waited_ms <= 200);
  await cold.page.context().close();
  await ended(server);

  ({ server, base } = await serve());
  const first = await openTimeline(browser, base, run);
  mark("first picture, overview stored, server just started", `${round(first.paint_ms / 1e3, 2)} s`, "<= 1 s", first.paint_ms <= 1000);
  await first.page.context().close();
  const { page, paint_ms } = await openTimeline(browser, base, run);
  mark("first picture, server has the run open", `${round(paint_ms / 1e3, 2)} s`, "<= 1 s", paint_ms <= 1000);
  const events = await page.locator(".tl-head span").first().textContent();
  await page.evaluate(() => performance.setResourceTimingBufferSize(10_000));
  await moving(browser, page, "zoom over the whole run", true);
  for (let i = 0; i < 12; ++i) await page.keyboard.press("w");
  await page.waitForSelector(".tl-canvas canvas[data-drawn=whole]");
  await moving(browser, page, "move at 1/70 of the run", false);
  for (let i = 0; i < 24; ++i) await page.keyboard.press("w");
  await page.waitForSelector(".tl-canvas canvas[data-drawn=whole]");
  await moving(browser, page, "move at 1/370,000 of the run", false);
  await tileAnswers(page);
  await pageMemory(browser, page, server);
  await ended(server);
  console.log(`${events}; Chromium ${browser.version()}, software rendering, 1600 x 900\n`);
} finally {
  await browser.close();
}
console.log("| mark | measured | goal | |\n|---|---|---|---|");
for (const m of marks) console.log(`| ${m.name} | ${m.measured} | ${m.goal} | ${m.met === null ? "" : m.met ? "met" : "missed"} |`);
process.exitCode = marks.some((m) => m.met === false) ? 1 : 0;
