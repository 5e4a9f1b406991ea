// SPDX-License-Identifier: Apache-2.0
// app.mjs CHROMIUM FOLDER: starts the server that FOLDER/app.json names and uses the application in Chromium as a
// person would. Prints "PASS name" or "FAIL name: why"; the suite tests/suites/app.py makes the store.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { base, done, given, neurolens, path, settled, start, stop, untilPath, visit } from "./app_page.mjs";
import { browser, expect, picture, test } from "./page.mjs";

const axe = readFileSync(given.axe, "utf8");
const TABS = [
  "overview",
  "timeline",
  "operators",
  "kernels",
  "flame",
  "roofline",
  "stages",
  "idle",
  "memory",
  "ranks",
  "counters",
  "sql",
  "files",
];
const VIEWS = [
  "/",
  `/compare?a=${given.base}&b=${given.eager}`,
  "/compare",
  "/trends?model=llama",
  "/sql?run=@all&q=SELECT 1 AS one",
  "/bench",
  "/live",
  "/system",
  "/login",
  `/runs/${given.base}/timeline?from=100&to=104&area=101000000,102500000&event=kernel:400`,
  `/runs/${given.base}/timeline?find=gemm&matches=list`,
  "/nothing-like-this".replace("/nothing", "/runs/nothing"),
];

await test("the list of runs is filtered, sorted, and kept in the address", async () => {
  const page = await visit("/");
  const rows = () => page.locator(".grid tbody tr:not(.gap)").count();
  expect((await rows()) === 5, `${await rows()} rows`);
  await page.keyboard.press("/");
  await page.keyboard.type("llama team=b");
  await untilPath(page, "q=llama+team");
  const untilRows = (n) =>
    page.waitForFunction((wanted) => document.querySelectorAll(".grid tbody tr:not(.gap)").length === wanted, n);
  await untilRows(1);
  await page.reload();
  await page.waitForSelector(".grid tbody tr");
  expect((await rows()) === 1, "the filter is not in the address");
  await page.locator("[data-search]").fill("");
  await page.getByLabel("Model").selectOption("llama");
  await untilRows(2);
  await page.getByRole("button", { name: "Wall" }).click();
  await untilPath(page, "sort=-wall");
  expect((await page.locator(".grid th[aria-sort=descending]").textContent()).includes("Wall"), "not sorted by wall");
  await page.goBack();
  await page.waitForFunction(() => !location.search.includes("sort"));
  expect((await path(page)).includes("model=llama"), "the back button lost the filter");
  await done(page);
});

await test("on a phone each run is a card that fits, sorted from a list and opened by key", async () => {
  const page = await visit("/", { viewport: { width: 390, height: 844 } });
  const grid = page.locator("section.grid");
  const fits = await grid.evaluate((e) => [
    e.scrollWidth <= e.clientWidth,
    [...e.querySelectorAll("td.card")].every((card) =>
      [...card.querySelectorAll("div > b, input")].every(
        (part) => part.getBoundingClientRect().right <= card.getBoundingClientRect().right,
      ),
    ),
    [...e.querySelectorAll("td.card")].every((card) => card.scrollHeight <= card.clientHeight),
  ]);
  expect(fits.every(Boolean), `cards are cut: ${fits}`);
  const walls = () => grid.locator("td.card b").allTextContents();
  await page.getByLabel("Sort by").selectOption("wall");
  await untilPath(page, "sort=-wall");
  const known = JSON.parse(neurolens("ls", "--json")).runs.map((r) => r.wall_ns);
  const inMs = (text) => Number.parseFloat(text) * (text.endsWith(" s") ? 1e3 : text.endsWith("µs") ? 1e-3 : 1);
  await page.waitForFunction(() => !document.querySelector("section.grid[aria-busy=true]"));
  await page.waitForFunction(
    (most) => {
      const text = document.querySelector("td.card b")?.textContent ?? "";
      const unit = text.endsWith(" s") ? 1e3 : text.endsWith("µs") ? 1e-3 : 1;
      return Math.abs(Number.parseFloat(text) * unit - most) <= 0.01 * most;
    },
    Math.max(...known) / 1e6,
  );
  const shown = (await walls()).map(inMs);
  expect(
    shown.every((v, i) => i === 0 || v <= shown[i - 1]),
    `not sorted: ${shown}`,
  );
  await grid.focus();
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.pathname.startsWith("/runs/"));
  await done(page);
});

await test("two selected runs are compared and the back button leads back", async () => {
  const page = await visit("/?q=llama");
  for (const box of await page.locator(".grid input[type=checkbox]").all()) await box.click();
  await untilPath(page, "sel=");
  await page.keyboard.press("c");
  await untilPath(page, "/compare");
  await page.waitForSelector("#fall .fall-item");
  expect((await path(page)).includes(`a=${given.base}&b=${given.eager}`), "the older run is not A");
  for (const id of ["waterfall", "timelines", "flame", "tables", "runs"])
    expect(await page.locator(`section#${id}`).count(), `no section ${id}`);
  const cells = page.locator("#fall .fall-item .fall-row").first().locator(":scope > *");
  const middles = await cells.evaluateAll((list) =>
    list.map((cell) => cell.getBoundingClientRect()).map((box) => (box.top + box.bottom) / 2),
  );
  expect(
    middles.length === 6 && Math.max(...middles) - Math.min(...middles) < 4,
    `a change is not one line: ${middles}`,
  );
  await page.goBack();
  await page.waitForSelector(".grid tr.selected");
  await done(page);
});

await test("every tab of a run shows its data or why there is none", async () => {
  const page = await visit(`/runs/${given.base}`);
  expect((await page.locator("#verdict").textContent()).length > 20, "no verdict");
  await page.waitForSelector("table.parts");
  const rows = await page
    .locator("table.parts tr")
    .evaluateAll((list) =>
      list.map((row) => [...row.cells].map((cell) => Math.round(cell.getBoundingClientRect().left)).join()),
    );
  expect(
    new Set(rows.slice(0, 3)).size === 1,
    `the parts of the time are not in columns: ${rows.slice(0, 3).join("; ")}`,
  );
  for (const tab of TABS) {
    await page.goto(`${base}/runs/${given.base}/${tab}`);
    await page.waitForSelector(`.tab.${tab}`);
    await settled(page);
    const text = await page.locator(`.tab.${tab}`).innerText();
    expect(text.trim().length > 20, `${tab} is empty`);
    expect(!/NaN|undefined|Infinity/.test(text), `${tab}: a missing value shows`);
    expect(!(await page.locator(".problem").count()), `${tab}: ${text.slice(0, 200)}`);
  }
  await done(page);
});

await test("a run of one rank says why its ranks cannot be compared", async () => {
  const reply = JSON.parse(neurolens("ranks", given.base, "--json"));
  reply.members = [{ name: "rank 0", held_up_ms: 0, last: 0, waited_ms: 0, transfer_ms: 0, mean_lateness_ms: null }];
  reply.not_assessed = "needs collectives with at least two members; none could be matched";
  const page = await visit(`/runs/${given.base}/ranks`, { mocks: { "/ranks?limit=500": reply } });
  const text = await page.locator(".empty").innerText();
  expect(text.includes("Needs collectives with at least two members") && text.includes("import FOLDER"), text);
  expect((await page.locator(".tab table").count()) === 0, "tables without rows are shown");
  await done(page);
});

await test("a profile of durations without times is explained without errors", async () => {
  const run = JSON.parse(neurolens("import", given.totals, "--json")).runs[0].run_id;
  const page = await visit(`/runs/${run}`);
  page.allowed = /status of 422/;
  page.problems = page.problems.filter((text) => !page.allowed.test(text));
  await page.waitForFunction(() => document.querySelector(".tiles")?.textContent.includes("kernel time"));
  const text = await page.locator("main").innerText();
  expect(!/GPU busy|Phases|Try again/.test(text), text.slice(0, 300));
  expect((await page.getByText("show in the timeline").count()) === 0, "a finding has a place in a timeline");
  expect((await page.locator(".problem").count()) === 0, "an error is shown");
  for (const tab of ["idle", "timeline"]) {
    await page.goto(`${base}/runs/${run}/${tab}`);
    await page.waitForSelector(`.tab.${tab} .empty`);
    await settled(page);
    expect((await page.locator(".problem").count()) === 0, `${tab} shows an error`);
  }
  await done(page);
  neurolens("rm", run, "--force");
});

await test("a finding leads to its kernel and to the timeline", async () => {
  const page = await visit(`/runs/${given.base}`);
  const links = page.locator(".finding a", { hasText: "show in the timeline" });
  expect((await links.count()) > 0, "no finding has a place");
  await links.first().click();
  await untilPath(page, "/timeline?");
  await page.goBack();
  await page.waitForSelector(".finding a.rowlink");
  await page.locator(".finding a.rowlink").first().click();
  await page.waitForSelector("tr.marked");
  await done(page);
});

await test("keys lead to the views, and the keys are listed", async () => {
  const page = await visit("/");
  for (const [key, wanted] of [
    ["c", "/compare"],
    ["t", "/trends"],
    ["s", "/sql"],
    ["b", "/bench"],
    ["l", "/live"],
    ["y", "/system"],
    ["r", "/"],
  ]) {
    // A key that comes while the view before is being replaced may be lost, as it is for people.
    const arrived = () => page.waitForFunction((to) => location.pathname === to, wanted, { timeout: 3000 });
    for (let attempt = 0; attempt < 10; ++attempt) {
      await page.keyboard.press("g");
      await page.keyboard.press(key);
      if (
        await arrived().then(
          () => true,
          () => false,
        )
      )
        break;
    }
    expect(new URL(page.url()).pathname === wanted, `g ${key} does not lead to ${wanted}`);
    await settled(page);
  }
  await page.keyboard.press("?");
  await page.waitForSelector("dialog[open]");
  expect((await page.locator("dialog").textContent()).includes("Go to Compare"), "the keys are not listed");
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !document.querySelector("dialog"));
  await done(page);
});

await test("SQL is completed, run, sorted, shared by its address and saved", async () => {
  const page = await visit("/sql");
  const area = page.locator("textarea");
  await area.fill("");
  await area.pressSequentially("SELECT name, dur_ns FROM kern");
  await page.waitForSelector("[role=option]");
  await page.keyboard.press("Tab");
  expect((await area.inputValue()) === "SELECT name, dur_ns FROM kernel", await area.inputValue());
  await page.keyboard.press("Control+Enter");
  await page.waitForSelector(".grid tbody tr");
  await page.getByRole("button", { name: "dur_ns" }).click();
  const saved = async (format) => {
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: `Save as ${format}` }).click(),
    ]);
    expect(download.suggestedFilename() === `query.${format.toLowerCase()}`, download.suggestedFilename());
    return readFileSync(await download.path());
  };
  const lines = (await saved("CSV")).toString("utf8").split("\n");
  expect(lines[0] === "name,dur_ns" && lines.length > 1000, `${lines.length} lines, ${lines[0]}`);
  const parquet = await saved("Parquet");
  const [head, tail] = [parquet.subarray(0, 4).toString(), parquet.subarray(-4).toString()];
  expect(head === "PAR1" && tail === "PAR1" && parquet.length > 1000, `${parquet.length} bytes, ${head} ${tail}`);
  await page.reload();
  await page.waitForSelector(".grid tbody tr");
  page.allowed = /400|422/;
  await area.fill("SELECT nothing FROM nowhere");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.waitForSelector(".problem");
  expect((await page.locator(".problem").textContent()).includes("nowhere"), "the error does not say what is wrong");
  await page.getByText("Tables and columns").click();
  await page.waitForSelector(".schema li");
  await done(page);
});

await test("Trends offers the models, a point leads to its run and two points to their comparison", async () => {
  const page = await visit("/trends");
  const models = await page.locator("#trend-models option").evaluateAll((list) => list.map((o) => o.value));
  expect(models.includes("llama"), `models: ${models}`);
  await page.keyboard.press("/");
  await page.keyboard.type("llama");
  await page.keyboard.press("Enter");
  await untilPath(page, "model=llama");
  await page.waitForFunction(() => document.querySelectorAll(".trendpoint").length === 2);
  await page
    .locator(".trendpoint")
    .first()
    .click({ modifiers: ["Shift"] });
  await page.waitForSelector(".trendpoint.selected");
  await page
    .locator(".trendpoint")
    .last()
    .click({ modifiers: ["Shift"] });
  await untilPath(page, `/compare?a=${given.base}&b=${given.eager}`);
  await page.goBack();
  await page.goBack();
  await page.waitForFunction(() => !location.search.includes("sel"));
  await page.locator(".trendpoint").last().click();
  await untilPath(page, `/runs/${given.eager}`);
  await done(page);
});

await test("a dropped profile is imported and appears in the list", async () => {
  const page = await visit("/");
  const data = readFileSync(given.upload).toString("base64");
  await page.evaluate((text) => {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const transfer = new DataTransfer();
    transfer.items.add(new File([bytes], "dropped.json.gz"));
    document.dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
  }, data);
  await page.waitForSelector(".job a");
  await page.waitForFunction(() => document.querySelector(".grid").textContent.includes("dropped"));
  await page.evaluate(() => {
    const transfer = new DataTransfer();
    transfer.items.add(new File(["not a profile"], "bad.txt"));
    document.dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
  });
  page.allowed = /400|422/;
  await page.waitForSelector(".job .problem");
  await done(page);
});

await test("a run imported beside the server appears by itself", async () => {
  const page = await visit("/");
  neurolens("import", given.beside, "--model", "beside the server");
  await page.waitForFunction(() => document.querySelector(".grid").textContent.includes("beside the server"));
  await done(page);
});

await test("a run that was deleted underneath is explained", async () => {
  const page = await visit(`/runs/${given.doomed}`);
  neurolens("rm", given.doomed, "--force");
  page.allowed = /404/;
  await page.locator("nav.tabs a", { hasText: "Kernels" }).click();
  await page.waitForSelector(".problem");
  await page.goto(`${base}/runs/${given.doomed}`);
  await page.waitForSelector(".problem");
  await page.locator(".problem a", { hasText: "All runs" }).click();
  await page.waitForSelector(".grid");
  neurolens("rm", given.second, "--force");
  await page.evaluate(() => window.dispatchEvent(new Event("focus")));
  await page.waitForFunction(() => !document.querySelector(".grid").textContent.includes("second doomed"));
  await done(page);
});

await test("a server restarted underneath is found again", async () => {
  const page = await visit("/");
  page.allowed = /ERR_|Failed to load|network|interrupted/;
  const at = new URL(base).host;
  await stop();
  await page.waitForSelector(".notices .bad");
  await page.goto("about:blank").catch(() => {});
  await start(at);
  await page.goto(`${base}/runs/${given.base}/kernels`);
  await page.waitForSelector("#table-kernels tbody tr");
  await stop();
  await page.waitForSelector(".notices .bad");
  await page.locator("nav.tabs a", { hasText: "Stages" }).click();
  await page.waitForSelector(".problem");
  await start(at);
  await page.waitForFunction(() => document.querySelector(".notices")?.textContent.includes("reconnected"));
  await page.waitForFunction(() => !document.querySelector(".problem"));
  await done(page);
});

await test("every view comes back after the server was restarted underneath", async () => {
  const places = [...VIEWS.filter((v) => !v.includes("nothing")), ...TABS.map((tab) => `/runs/${given.base}/${tab}`)];
  const pages = await Promise.all(places.map((place) => visit(place)));
  for (const page of pages) page.allowed = /ERR_|Failed to load|network|interrupted/;
  const at = new URL(base).host;
  await stop();
  for (const [i, page] of pages.entries())
    await page
      .waitForSelector(".notices .bad")
      .catch(() => expect(false, `${places[i]} does not say that the server is gone`));
  await start(at);
  for (const [i, page] of pages.entries()) {
    const place = places[i];
    await page
      .waitForFunction(() => !document.querySelector(".notices .bad")) // the notice of the reconnection goes after seconds
      .catch(() => expect(false, `${place} does not reconnect`));
    await page
      .waitForFunction(() => !document.querySelector(".problem") && !document.querySelector("[aria-busy=true]"))
      .catch(() => expect(false, `${place} does not load again`));
    const text = await page.locator("main").innerText();
    expect(text.trim().length > 20, `${place} is empty`);
    await done(page);
  }
  return `${pages.length} views`;
});

await test("every view explains a run that was deleted underneath", async () => {
  const made = JSON.parse(neurolens("import", given.upload, "--model", "removed underneath", "--force", "--json"));
  const run = made.runs[0].run_id;
  const places = [
    ...TABS.map((tab) => `/runs/${run}/${tab}`),
    `/runs/${run}/sql?q=SELECT 1 AS one`,
    `/compare?a=${run}&b=${given.base}`,
    `/sql?run=${run}&q=SELECT 1 AS one`,
  ];
  const pages = await Promise.all(places.map((place) => visit(place)));
  neurolens("rm", run, "--force");
  for (const [i, page] of pages.entries()) {
    page.allowed = /404/;
    await page.reload();
    await page.waitForSelector(".problem").catch(() => expect(false, `${places[i]} does not say that the run is gone`));
    await settled(page);
    const text = await page.locator(".problem").first().innerText();
    expect(/no such run|no run is named/.test(text), `${places[i]}: ${text}`);
    expect((await page.locator(".problem a", { hasText: "All runs" }).count()) > 0, `${places[i]}: no way out`);
    await done(page);
  }
  return `${pages.length} views`;
});

await test("a server that wants a login gets one and shows what was asked for", async () => {
  const page = await visit("/login");
  page.allowed = /401/;
  let user = null;
  await page.route("**/api/v1/**", (route) => {
    const { pathname } = new URL(route.request().url());
    if (pathname === "/api/v1/login") {
      const given = route.request().postDataJSON();
      if (given.password !== "right") return route.fulfill({ status: 401, json: { detail: "wrong name or password" } });
      user = given.name;
      return route.fulfill({ json: {} });
    }
    return user ? route.fallback() : route.fulfill({ status: 401, json: { detail: "log in" } });
  });
  await page.goto(`${base}/runs/${given.base}/kernels`);
  await page.waitForSelector(".login");
  for (const password of ["wrong", "right"]) {
    await page.getByLabel("Name").fill("ada");
    await page.getByLabel("Password").fill(password);
    await page.getByRole("button", { name: "Log in" }).click();
    if (password === "wrong") await page.waitForSelector(".login .problem");
  }
  await page.waitForSelector("#table-kernels tbody tr");
  expect((await path(page)) === `/runs/${given.base}/kernels`, await path(page));
  expect(await page.getByRole("button", { name: "Log out" }).count(), "no way to log out");
  expect(!(await page.locator(".notices .bad").count()), "a login was taken for a lost server");
  await done(page);
});

await test("no view has a serious violation of accessibility", async () => {
  const bad = [];
  const places = [...VIEWS, ...TABS.map((tab) => `/runs/${given.base}/${tab}`)];
  const look = async (place, page, colorScheme) => {
    await page.evaluate(axe);
    const found = await page.evaluate(async () => (await window.axe.run()).violations);
    for (const v of found)
      if (v.impact === "serious" || v.impact === "critical")
        bad.push(`${place.slice(0, 60)} ${colorScheme}: ${v.id} ${v.nodes[0].html.slice(0, 120)}`);
  };
  for (const colorScheme of ["light", "dark"]) {
    const page = await visit("/", { colorScheme, bypassCSP: true });
    page.allowed = /404/;
    for (const place of places) {
      await page.goto(base + place);
      await page.waitForSelector("main h1, main h3");
      await settled(page);
      await look(place, page, colorScheme);
    }
    await page.goto(base);
    await page.waitForSelector(".grid tbody tr");
    await page.keyboard.press("?");
    await page.waitForSelector("dialog[open]");
    await look("the list of keys", page, colorScheme);
    await done(page);
  }
  expect(bad.length === 0, `${bad.length}: ${bad.slice(0, 6).join(" | ")}`);
});

await test("hostile names are text in every view", async () => {
  const page = await visit("/");
  page.allowed = /404/;
  const id = given.hostile;
  const compare = `/compare?a=${id}&b=${given.base}`;
  const sql = `/runs/${id}/sql?q=${encodeURIComponent("SELECT name, dur_ns FROM kernel")}`;
  for (const place of [
    "/",
    compare,
    `/trends?model=${encodeURIComponent("<img")}`,
    sql,
    ...TABS.map((t) => `/runs/${id}/${t}`),
  ]) {
    await page.goto(base + place);
    await page.waitForSelector("main h1, main h3");
    await settled(page);
    for (const button of await page.locator(".more").all()) await button.click();
    const found = await page.evaluate(() => ({
      hacked: window.hacked,
      scripts: document.scripts.length,
      images: document.images.length,
      wide: document.documentElement.scrollWidth,
    }));
    expect(found.hacked === undefined, `${place}: a name ran as script`);
    expect(found.scripts === 1 && found.images === 0, `${place}: ${found.scripts} scripts, ${found.images} images`);
    expect(found.wide <= 1280, `${place} is ${found.wide} pixels wide`);
  }
  await page.goto(`${base}/runs/${id}/kernels`);
  await page.waitForSelector("#table-kernels tbody tr");
  expect((await page.locator("main").innerText()).includes("<img src=x onerror="), "the name is not shown");
  await done(page);
});

await test("hostile names of recordings and devices are text", async () => {
  const bad = "<img src=x onerror=window.hacked=3>";
  const recording = {
    live_id: "0199-x",
    ref: "@live:0199",
    state: "recording",
    command: [`/bin/${bad}`, "\u202ex", "k".repeat(5000)],
    started_at: "2026-01-01T00:00:00Z",
    elapsed_ms: 1,
    recording: true,
    processes: 1,
    kernels: 1,
    ranges: 0,
    lost_records: 0,
    bytes: 1,
    partial_run_id: null,
    partial_made_at: null,
    sender: bad,
  };
  const system = JSON.parse(neurolens("system", "--json"));
  for (const [place, mocks] of [
    ["/live", { "/api/v1/live": { recordings: [recording] } }],
    ["/system", { "/api/v1/system": { ...system, health: [{ ...system.health[0], advice: bad + bad.repeat(50) }] } }],
  ]) {
    const page = await visit(place, { mocks });
    page.allowed = /404/;
    await page.waitForFunction(() => document.querySelector("main").innerText.includes("<img src=x"));
    const found = await page.evaluate(() => ({
      hacked: window.hacked,
      images: document.images.length,
      wide: document.documentElement.scrollWidth,
    }));
    expect(
      found.hacked === undefined && found.images === 0 && found.wide <= 1280,
      `${place}: ${JSON.stringify(found)}`,
    );
    page.problems = page.problems.filter((text) => !/404/.test(text));
    await done(page);
  }
});

await test("no view is wider than a phone", async () => {
  const bad = [];
  const page = await visit("/", { viewport: { width: 390, height: 844 } });
  page.allowed = /404/;
  for (const place of [...VIEWS, ...TABS.map((tab) => `/runs/${given.base}/${tab}`)]) {
    await page.goto(base + place);
    await page.waitForSelector("main h1, main h3");
    await settled(page);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    if (wide > 390) bad.push(`${place} is ${wide} pixels wide`);
  }
  expect(bad.length === 0, bad.join("; "));
  await done(page);
});

await test("light and dark follow the system and the button in the application", async () => {
  const back = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await visit(`/runs/${given.base}/flame`, { colorScheme: "light" });
  const dark = await visit("/", { colorScheme: "dark" });
  const dim = await back(dark);
  expect((await back(light)) !== dim, "both are the same");
  const before = await picture(light.locator(".flame canvas"));
  await light.locator("#theme").click();
  expect((await back(light)) === dim, "the button does not turn it dark");
  await light.waitForFunction(() => document.documentElement.dataset.theme === "dark");
  expect((await picture(light.locator(".flame canvas"))).hash !== before.hash, "the canvas kept its colours");
  await done(light);
  await done(dark);
});

await test("a recording under way is listed, explained and drawn while it grows", async () => {
  const recorder = spawn(
    given.store[0],
    [...given.store.slice(1), "run", "--no-cpu", "--no-python", "--no-counters", "--", ...given.endless],
    { stdio: "ignore", env: { ...process.env, NEUROLENS_CUPTI: given.cupti } },
  );
  const ended = new Promise((resolve) => recorder.on("exit", resolve));
  const page = await visit("/live");
  page.allowed = /status of (404|422)/; // asked before anything was written
  try {
    await page.locator("#table-recordings tbody tr", { hasText: "gpu_program" }).waitFor();
    const partial = page.locator("[data-partial]");
    await partial.locator("canvas").first().waitFor();
    const first = await partial.getAttribute("data-partial");
    await page.waitForFunction((id) => document.querySelector("[data-partial]")?.dataset.partial !== id, first);
    await partial.locator("canvas").first().waitFor();
    await page.getByLabel("Follow").uncheck();
    await untilPath(page, "follow=no");
    if (process.env.NEUROLENS_PICTURES) {
      await settled(page);
      await page.screenshot({ path: `${process.env.NEUROLENS_PICTURES}/app_live.png`, fullPage: true });
    }
  } finally {
    recorder.kill("SIGTERM");
  }
  await ended;
  await page.getByText("Nothing is being recorded").waitFor();
  await page.getByRole("link", { name: "Open its run" }).click();
  await untilPath(page, "/runs/");
  const run = (await path(page)).split("/")[2];
  expect(JSON.parse(neurolens("show", run, "--json")).run.run_id === run, "that is not a run of the store");
  neurolens("rm", run, "--force"); // app_timeline.mjs uses the same store
  await done(page);
});

await stop();
await browser.close();
