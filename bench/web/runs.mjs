#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// runs.mjs STORE: the list of a store of many runs in the web application, in Chromium.
//
//     neurolens --store /tmp/many import data/h200/base.json.gz && python3 tests/many_runs.py /tmp/many 10000
//     node bench/web/runs.mjs /tmp/many
//
// Prints one table; exit status 1 when a mark is missed. Server, browser and this script share the machine. Needs the tools of the pages:
// web/check.sh installs them.
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { listening } from "../../web/serve.mjs";

const root = fileURLToPath(new URL("../../", import.meta.url));
const { chromium } = createRequire(`${root}web/package.json`)("playwright-core");
const program = process.env.NEUROLENS_BIN ?? `${root}build/release/neurolens`;
const [store] = process.argv.slice(2);
if (!store) {
  console.error("use: runs.mjs STORE");
  process.exit(2);
}

const REPEATS = 9;
const PAINT_MS = 1000; // of the first picture
const STEP_MS = 200; // from a key to the rows it asks for
const marks = [];
const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
const mark = (name, times, most) => marks.push({ name, times, most, met: median(times) <= most });

const serve = () => listening([program, "--store", store, "serve", "--listen", "127.0.0.1:0"]);

// Time in the page from an act to the frame in which `isThere` holds and nothing is asked for any more.
function timed([act, isThere]) {
  return new Promise((resolve) => {
    const began = performance.now();
    new Function("grid", act)(document.querySelector("section.grid"));
    const look = () => {
      const grid = document.querySelector("section.grid");
      const settled = grid && !grid.hasAttribute("aria-busy") && !grid.querySelector("tr.absent");
      if (settled && new Function("grid", `return ${isThere}`)(grid)) requestAnimationFrame(() => resolve(performance.now() - began));
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
}

const { server, base } = await serve();
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
});
let title = "";
try {
  const paints = [];
  const steps = { end: [], filter: [], model: [], sort: [] };
  for (let i = 0; i < REPEATS; ++i) {
    const context = await browser.newContext({ viewport: { width: 1600, height: 900 }, bypassCSP: true });
    const page = await context.newPage();
    await page.addInitScript(() => {
      new MutationObserver(() => {
        if (document.querySelector("section.grid tbody code") && !window.painted) window.painted = performance.now();
      }).observe(document, { subtree: true, childList: true });
    });
    await page.goto(base);
    await page.waitForFunction(() => window.painted > 0);
    paints.push(await page.evaluate(() => window.painted));
    title = await page.locator("main .bar [role=status]").textContent();
    const type = (text) => `const i = document.querySelector("[data-search]"); i.value = ${JSON.stringify(text)}; i.dispatchEvent(new InputEvent("input", { bubbles: true }));`;
    const status = (pattern) => `${pattern}.test(document.querySelector("main .bar [role=status]").textContent)`;
    steps.end.push(await page.evaluate(timed, ["grid.scrollTop = grid.scrollHeight", "grid.scrollTop > 1000"]));
    steps.filter.push(await page.evaluate(timed, [type("model 7 n=3"), status("/ of /")]));
    await page.evaluate(timed, [type(""), status("/^[0-9,]+ runs$/")]);
    const choose = 'const s = [...document.querySelectorAll(".filters select")][0]; s.selectedIndex = 3; s.dispatchEvent(new Event("change", { bubbles: true }));';
    steps.model.push(await page.evaluate(timed, [choose, status("/ of /")]));
    await page.evaluate(timed, [choose.replace("= 3", "= 0"), status("/^[0-9,]+ runs$/")]);
    const first = await page.locator("section.grid tbody code").first().textContent();
    const sort = '[...document.querySelectorAll("section.grid th button")].find((b) => b.textContent.startsWith("Wall")).click()';
    steps.sort.push(await page.evaluate(timed, [sort, `document.querySelector("section.grid tbody code").textContent !== ${JSON.stringify(first)}`]));
    await context.close();
  }
  mark("first rows on the screen", paints, PAINT_MS);
  mark("scroll to the end: its rows", steps.end, STEP_MS);
  mark("text filter: its rows", steps.filter, STEP_MS);
  mark("filter by model: its rows", steps.model, STEP_MS);
  mark("sort by wall time: its rows", steps.sort, STEP_MS);
} finally {
  const version = browser.version();
  await browser.close();
  server.removeAllListeners("exit");
  server.kill("SIGTERM");
  console.log(`${title}; Chromium ${version}, software rendering, 1600 x 900, ${REPEATS} times each\n`);
}
console.log("| mark | median | most | goal | |\n|---|---|---|---|---|");
for (const m of marks)
  console.log(`| ${m.name} | ${median(m.times).toFixed(0)} ms | ${Math.max(...m.times).toFixed(0)} ms | <= ${m.most} ms | ${m.met ? "met" : "missed"} |`);
process.exitCode = marks.some((m) => !m.met) ? 1 : 0;
