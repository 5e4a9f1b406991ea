// SPDX-License-Identifier: Apache-2.0
// app_bench.mjs CHROMIUM FOLDER: the Bench view over a queue, a suite and results that the suite tests/suites/app.py made. Prints
// "PASS name" or "FAIL name: why".
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { base, done, given, neurolens, readable, settled, stop, untilPath, visit } from "./app_page.mjs";
import { browser, expect, test } from "./page.mjs";

const ask = (...words) => JSON.parse(neurolens(...words, "--json"));

await test("the queue is listed with its states, and an entry with its output", async () => {
  const page = await visit("/bench");
  const queue = ask("queue-entries");
  await page.waitForSelector("#table-entries tbody tr");
  expect((await page.locator("#table-entries tbody tr").count()) === queue.entries_total, "not every entry is listed");
  const text = await page.locator("#queue").innerText();
  expect(text.includes("1 failed") && text.includes("1 queued"), text.slice(0, 200));
  expect(text.includes("No runner is working on this queue, and entries are waiting"), text.slice(0, 200));
  await page.locator("#table-entries a", { hasText: "broken" }).click();
  await untilPath(page, "entry=");
  await page.waitForSelector(".entry .output");
  expect((await page.locator(".entry .output").innerText()).includes("<b>why</b>"), "the output is not text");
  await page.reload();
  await page.waitForSelector(".entry .output");
  await page.getByRole("link", { name: "Close" }).click();
  await page.waitForFunction(() => !document.querySelector(".entry"));
  await done(page);
});

await test("the queue is followed while its runner works", async () => {
  const page = await visit("/bench");
  const runner = spawn(given.store[0], [...given.store.slice(1), "queue", "run"], {
    stdio: "ignore",
    env: { ...process.env, ...given.environment },
  });
  const ended = new Promise((resolve) => runner.on("exit", resolve));
  try {
    await page.locator(".runner", { hasText: "Running held" }).waitFor();
    await page.locator("#table-entries tr", { hasText: "held" }).locator(".pill.running").waitFor();
    writeFileSync(given.gate, "go\n"); // what the entry waits for
    await page.locator("#table-entries tr", { hasText: "held" }).locator(".pill.done").waitFor();
    await ended;
    await page.getByText("No runner is working on this queue").waitFor();
  } finally {
    runner.kill("SIGTERM");
  }
  await done(page);
});

await test("pairs have their last result, and the history of a pair has its own address", async () => {
  const page = await visit("/bench");
  const { pairs } = ask("bench-pairs", "--bench-root", given.suite);
  await page.waitForSelector("#table-pairs tbody tr");
  expect((await page.locator("#table-pairs tbody tr").count()) === pairs.length, "not every pair is listed");
  const measured = pairs.find((p) => p.last?.found.speedup);
  const row = page.locator("#table-pairs tr", { hasText: measured.target });
  const text = await row.innerText();
  expect(text.includes(`${measured.last.found.speedup.toFixed(2)}×`), `${measured.last.found.speedup}: ${text}`);
  expect(text.includes(measured.last.found.outcome), text);
  const expected = measured.expected[0].speedup;
  expect(text.split(`${expected.toFixed(2)}×`).length >= 2, `expected ${expected}: ${text}`);
  await row.locator("a").first().click();
  await untilPath(page, "target=");
  await page.waitForSelector("#history .spark");
  const history = ask("bench-results", "--target", measured.target).results;
  await page.waitForFunction((n) => document.querySelectorAll("#table-results tbody tr").length === n, history.length);
  await page.getByRole("link", { name: "All results" }).click();
  const all = ask("bench-results").results.flatMap((r) => r.targets).length;
  await page.waitForFunction((n) => document.querySelectorAll("#table-results tbody tr").length === n, all);
  await done(page);
});

await test("a result that is kept while the page is open appears by itself", async () => {
  const page = await visit("/bench");
  const rows = (n) =>
    page.waitForFunction((wanted) => document.querySelectorAll("#table-results tbody tr").length === wanted, n);
  const before = ask("bench-results").results.flatMap((r) => r.targets).length;
  await rows(before);
  try {
    neurolens("prove", "--a", "true", "--b", "true", "--iterations", "12", "--no-why");
  } catch (error) {
    expect(error.status === 2, `prove ended with ${error.status}`); // undecided
  }
  await rows(before + 1);
  await done(page);
});

await test("hostile names are text in the Bench view", async () => {
  const page = await visit("/bench");
  const link = page.locator("#table-entries a", { hasText: "<img src=x" });
  await link.click();
  await page.waitForSelector(".entry h3");
  await page.goto(`${base}/bench?target=${encodeURIComponent("<img src=x onerror=window.hacked=2>")}`);
  await page.waitForSelector("#history .state, #history .empty, #history h3");
  await settled(page);
  const found = await page.evaluate(() => ({
    hacked: window.hacked,
    images: document.images.length,
    wide: document.documentElement.scrollWidth,
  }));
  expect(found.hacked === undefined && found.images === 0 && found.wide <= 1280, JSON.stringify(found));
  await done(page);
});

await test("the Bench view is readable on a phone and in the dark", () =>
  readable("/bench", "app_bench", async (page) => {
    await page.waitForSelector("#table-results tbody tr");
    await page.locator("#table-entries a", { hasText: "broken" }).click();
    await page.waitForSelector(".entry .output");
  }));

await stop();
await browser.close();
