#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// pictures.mjs [VIEW...]: takes the pictures of docs/images again, light and dark, 1280 and 390 pixels wide, over the
// recordings of data/h200.
//
// Those of the Bench, System and Live views need simulated devices: NEUROLENS_PICTURES=FOLDER and the suite tests/suites/app.py.
// Needs the program (./neurolens) and the tools of the pages (web/check.sh installs them).
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { listening } from "./serve.mjs";

const root = fileURLToPath(new URL("../", import.meta.url));
const program = process.env.NEUROLENS_BIN ?? `${root}build/release/neurolens`;
const folder = mkdtempSync(`${tmpdir()}/neurolens-pictures-`);
const neurolens = (...words) =>
  execFileSync(program, ["--store", `${folder}/store`, ...words], { encoding: "utf8", maxBuffer: 1e8, cwd: root });

function add(file, model) {
  const reply = JSON.parse(neurolens("import", `data/h200/${file}`, "--model", model, "--json"));
  return reply.runs[0].run_id;
}

const serve = () => listening([program, "--store", `${folder}/store`, "serve", "--listen", "127.0.0.1:0"]);

async function take(browser, url, name) {
  for (const [colorScheme, width] of [
    ["light", 1280],
    ["dark", 1280],
    ["light", 390],
    ["dark", 390],
  ]) {
    const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme });
    await page.goto(url);
    await page.waitForSelector("main h1, main h3, #verdict");
    await page.waitForFunction(() => !document.querySelector("[aria-busy=true]"));
    if (name in opened) await page.locator(opened[name]).click();
    await page.waitForLoadState("networkidle");
    const height = await page.evaluate(() => document.documentElement.scrollHeight);
    const path = `${root}docs/images/${name}${width < 500 ? "_phone" : ""}${colorScheme === "dark" ? "_dark" : ""}.png`;
    await page.screenshot({ path, fullPage: true, clip: { x: 0, y: 0, width, height: Math.min(height, 1050) } });
    await page.close();
  }
}

// What is opened on the page before its picture is taken.
const opened = { app_stacks: '[aria-label^="Open python3 852 (CPU samples)"]' };

const wanted = process.argv.slice(2);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu"],
});
const ended = [];
try {
  const base = add("base.json.gz", "llama");
  const eager = add("eager_attn.json.gz", "llama");
  for (const file of ["longer_prompt", "item_sync", "rerun"]) add(`${file}.json.gz`, "llama");
  const training = add("resnet50_train_stack.json.gz", "resnet50");
  add("fp32_mlp.json.gz", "mlp");
  add("compiled_training.nlc.gz", "compiled training");
  const python = add("llama_python_step.nlc.gz", "llama");
  neurolens("report", base, "--html", `${folder}/report.html`);
  const { server, base: at } = await serve();
  ended.push(() => server.removeAllListeners("exit").kill());
  const query =
    "SELECT name, count(*) AS calls, sum(dur_ns)/1e6 AS ms FROM api_call GROUP BY name ORDER BY ms DESC LIMIT 8";
  const views = {
    report: `file://${folder}/report.html`,
    app_runs: `${at}/`,
    app_run: `${at}/runs/${base}`,
    app_timeline: `${at}/runs/${base}/timeline?from=100&to=104&event=kernel:400`,
    app_stacks: `${at}/runs/${python}/timeline?from=0&to=80`,
    app_flame: `${at}/runs/${training}/flame`,
    app_roofline: `${at}/runs/${training}/roofline`,
    app_idle: `${at}/runs/${python}/idle`,
    app_compare: `${at}/compare?a=${base}&b=${eager}`,
    app_trends: `${at}/trends?metric=wall&model=llama`,
    app_sql: `${at}/sql?run=${base}&q=${encodeURIComponent(query)}`,
  };
  for (const [name, url] of Object.entries(views)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    await take(browser, url, name);
    console.log(name);
  }
} finally {
  for (const end of ended) end();
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}
