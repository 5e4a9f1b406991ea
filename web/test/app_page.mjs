// SPDX-License-Identifier: Apache-2.0
// What the tests of the application share: the server that FOLDER/app.json names, and a page of it in Chromium.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { listening } from "../serve.mjs";
import { browser, expect, folder } from "./page.mjs";

export const given = JSON.parse(readFileSync(`${folder}/app.json`, "utf8"));
let server;
export let base = "";

// Starts the server and resolves when it listens.
export async function start(listen) {
  ({ server, base } = await listening([...given.command, listen], given.environment));
}
export function stop() {
  return new Promise((resolve) => {
    server.removeAllListeners("exit");
    server.on("exit", resolve);
    server.kill("SIGTERM");
  });
}
await start("127.0.0.1:0");
export const neurolens = (...words) =>
  execFileSync(given.store[0], [...given.store.slice(1), ...words], {
    encoding: "utf8",
    maxBuffer: 1e8,
    env: { ...process.env, ...given.environment },
  });

export const settled = (page) => page.waitForFunction(() => !document.querySelector("[aria-busy=true]"));

export async function visit(path, options = {}) {
  const { mocks = {}, ...view } = options;
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, ...view });
  page.setDefaultTimeout(120_000); // for a hang; a busy machine is slow, not wrong
  page.problems = [];
  page.allowed = /willReadFrequently/;
  page.on("console", (m) => {
    if ((m.type() === "error" || m.type() === "warning") && !page.allowed.test(m.text())) page.problems.push(m.text());
  });
  page.on("pageerror", (e) => page.problems.push(e.message));
  page.on("dialog", (d) => {
    page.problems.push("a dialog opened");
    d.dismiss();
  });
  for (const [pattern, reply] of Object.entries(mocks))
    await page.route(`**${pattern}`, (route) => route.fulfill({ json: reply }));
  await page.goto(base + path);
  await page.waitForSelector("main h1, main h3");
  await settled(page);
  return page;
}
// Opens `path` in light and dark, on a desk and on a phone: nothing is wider than the page and axe finds nothing serious.
// NEUROLENS_PICTURES: a folder for pictures called `picture`.
export async function readable(path, picture, prepare) {
  const axe = readFileSync(given.axe, "utf8");
  for (const [colorScheme, width] of [
    ["light", 1280],
    ["dark", 1280],
    ["light", 390],
    ["dark", 390],
  ]) {
    const page = await visit(path, { colorScheme, viewport: { width, height: 900 }, bypassCSP: true });
    await prepare(page);
    await settled(page);
    const size = await page.evaluate(() => [
      document.documentElement.scrollWidth,
      document.documentElement.scrollHeight,
    ]);
    expect(size[0] <= width, `${size[0]} pixels wide in ${width}`);
    await page.evaluate(axe);
    const bad = (await page.evaluate(async () => (await window.axe.run()).violations)).filter(
      (v) => v.impact === "serious" || v.impact === "critical",
    );
    expect(bad.length === 0, bad.map((v) => `${v.id} ${v.nodes[0].html.slice(0, 120)}`).join(" | "));
    if (process.env.NEUROLENS_PICTURES)
      await page.screenshot({
        path: `${process.env.NEUROLENS_PICTURES}/${picture}${width < 500 ? "_phone" : ""}${colorScheme === "dark" ? "_dark" : ""}.png`,
        fullPage: true,
        clip: { x: 0, y: 0, width, height: Math.min(size[1], 1050) },
      });
    await done(page);
  }
}
export async function done(page) {
  expect(page.problems.length === 0, page.problems.join("; "));
  await page.close();
}
export const path = (page) => page.evaluate(() => location.pathname + location.search);
export const untilPath = (page, wanted) =>
  page.waitForFunction((text) => (location.pathname + location.search).includes(text), wanted);
