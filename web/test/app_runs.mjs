// SPDX-License-Identifier: Apache-2.0
// app_runs.mjs CHROMIUM FOLDER: the list of a store of 10,000 runs in Chromium. Prints "PASS name" or "FAIL name: why"; the suite
// tests/suites/app.py makes the store.
import { done, neurolens, settled, stop, untilPath, visit } from "./app_page.mjs";
import { browser, expect, test } from "./page.mjs";

const TOTAL = 10_000;
const list = (...words) => JSON.parse(neurolens("ls", "--json", ...words));
const shownIds = (page) => page.locator(".grid tbody tr:not(.gap) td:last-child code").allTextContents();
const status = (page) => page.locator("main .bar [role=status]").textContent();
const untilStatus = (page, text) =>
  page.waitForFunction((wanted) => document.querySelector("main .bar [role=status]")?.textContent === wanted, text);

const choice = (page, label) => page.locator(".filters label", { hasText: new RegExp(`^${label}`) }).locator("select");

// Sizes of the lists that the page asked for.
function watch(page) {
  const asked = [];
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (url.pathname === "/api/v1/runs" && request.method() === "GET") asked.push(url.searchParams);
  });
  return asked;
}

await test("10,000 runs are in the list, a few in the page, and pages are asked for as they come into sight", async () => {
  const page = await visit("/");
  expect((await status(page)) === "10,000 runs", await status(page));
  const asked = watch(page);
  const shown = await page.locator(".grid tbody tr").count();
  expect(shown < 80, `${shown} rows are in the page`);
  expect((await page.locator(".grid table").getAttribute("aria-rowcount")) === String(TOTAL + 1), "aria-rowcount");
  await page.locator("section.grid").focus();
  await page.keyboard.press("End");
  await page.waitForSelector(`.grid tr.active[aria-rowindex='${TOTAL + 1}'] code`);
  const [oldest] = list("--sort", "created", "--reverse", "--limit", "1").runs;
  const last = await page.locator(".grid tr.active code").textContent();
  expect(last === oldest.short_id, `${last} is last, not ${oldest.short_id}`);
  expect(asked.length > 0 && asked.every((a) => Number(a.get("limit")) <= 100), asked.join(" | "));
  expect(!asked.some((a) => a.get("offset") === "5000"), "asked for rows that nobody sees");
  await done(page);
  return `${shown} rows in the page`;
});

await test("the server filters and sorts the list", async () => {
  const page = await visit("/");
  await choice(page, "Model").selectOption("model 7");
  await untilStatus(page, "200 of 10,000 runs");
  await page.getByRole("button", { name: "Wall" }).click();
  await untilPath(page, "sort=-wall");
  await settled(page);
  const words = ["--model", "model 7", "--exact", "--sort", "wall", "--limit", "20"];
  const wanted = list(...words).runs.map((r) => r.short_id);
  await page.waitForFunction((id) => document.querySelector(".grid tbody tr code")?.textContent === id, wanted[0]);
  expect((await shownIds(page)).slice(0, 20).join() === wanted.join(), "another order than that of `ls`");
  await page.keyboard.press("/");
  await page.keyboard.type("n=3 bf16");
  const few = list("--model", "model 7", "--exact", "--text", "n=3 bf16").runs_total;
  await untilStatus(page, `${few} of 10,000 runs`);
  await page.locator("[data-search]").fill("no run has this");
  await page.getByText("No run matches these filters").waitFor();
  await page.locator("[data-search]").fill("");
  await untilStatus(page, "200 of 10,000 runs");
  await choice(page, "Model").selectOption("");
  await untilStatus(page, "10,000 runs");
  await done(page);
});

await test("a filter set far down the list shows its rows", async () => {
  const page = await visit("/");
  await page.locator("section.grid").focus();
  await page.keyboard.press("End");
  await page.waitForSelector(`.grid tr.active[aria-rowindex='${TOTAL + 1}'] code`);
  await choice(page, "Device").selectOption("NVIDIA L4");
  await page.waitForFunction(() => {
    const rows = document.querySelectorAll(".grid tbody tr:not(.gap)");
    return rows.length > 0 && [...rows].every((r) => r.textContent.includes("NVIDIA L4"));
  });
  await page.locator("[data-search]").fill("model 7 n=1");
  await untilStatus(page, `${list("--device", "NVIDIA L4", "--text", "model 7 n=1").runs_total} of 10,000 runs`);
  await page.waitForFunction(() => !document.querySelector(".grid tr.absent"));
  expect((await shownIds(page)).length > 0, "no rows");
  await done(page);
});

await test("runs selected far apart are compared, and their selection is in the address", async () => {
  const page = await visit("/");
  await page.locator(".grid tbody input[type=checkbox]").nth(1).click();
  await untilPath(page, "sel=");
  await page.locator("section.grid").focus();
  await page.keyboard.press("End");
  await page.waitForSelector(`.grid tr.active[aria-rowindex='${TOTAL + 1}'] code`);
  await page.keyboard.press(" ");
  await page.getByText("2 selected").waitFor();
  await page.reload();
  await page.getByText("2 selected").waitFor();
  const [newest, oldest] = [
    list("--sort", "created", "--limit", "2").runs[1].run_id,
    list("--sort", "created", "--reverse", "--limit", "1").runs[0].run_id,
  ];
  page.allowed = /status of/; // these runs have no files
  await page.getByRole("button", { name: "Compare", exact: true }).click();
  await untilPath(page, `a=${oldest}&b=${newest}`);
  await page.close();
});

await stop();
await browser.close();
