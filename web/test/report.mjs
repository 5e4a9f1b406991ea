// SPDX-License-Identifier: Apache-2.0
// report.mjs CHROMIUM FOLDER: opens FOLDER/{base,hostile,full}.html as files in Chromium and uses them as a reader
// would. Prints "PASS name" or "FAIL name: why"; the suite tests/suites/report.py makes the pages.
import { browser, expect, like, open, picture, test, tooWide, unlike, untilPicture } from "./page.mjs";

const view = (page) =>
  page.locator("#timeline-view").evaluate((e) => ({ from: Number(e.dataset.from), to: Number(e.dataset.to) }));
const span = async (page) => {
  const v = await view(page);
  return v.to - v.from;
};

await test("the base trace opens as a file without a console message", async () => {
  const page = await open("base");
  expect(page.problems.length === 0, page.problems.join("; "));
  const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
  expect(paint > 0, "nothing was painted");
  const missing = [];
  for (const id of ["time", "timeline", "operators", "kernels", "run", "glossary"])
    if (!(await page.locator(`section#${id}`).count())) missing.push(id);
  expect(missing.length === 0, `no section ${missing}`);
  await page.close();
  return `first paint after ${Math.round(paint)} ms`;
});

await test("every section of the full model is shown", async () => {
  const page = await open("full");
  for (const id of [
    "time",
    "startup",
    "findings",
    "timeline",
    "stages",
    "operators",
    "kernels",
    "flame",
    "roofline",
    "path",
    "idle",
    "launches",
    "modules",
    "ranges",
    "memory",
    "run",
    "glossary",
  ])
    expect(await page.locator(`section#${id}`).count(), `no section ${id}`);
  expect(page.problems.length === 0, page.problems.join("; "));
  await page.close();
});

await test("a click on a heading sorts, a second one turns the order", async () => {
  const page = await open("base");
  const column = async () =>
    (await page.locator("#table-operators tbody td:nth-child(6)").allTextContents()).map((t) =>
      Number(t.replaceAll(",", "")),
    );
  const ordered = (list, sign) => list.every((v, i) => i === 0 || sign * (v - list[i - 1]) >= 0);
  await page.getByRole("button", { name: "Calls" }).first().click();
  const down = await column();
  expect(down.length > 5 && ordered(down, -1) && down[0] > down[down.length - 1], `not descending: ${down}`);
  expect((await page.locator("#table-operators th").nth(5).getAttribute("aria-sort")) === "descending", "aria-sort");
  await page.getByRole("button", { name: "Calls" }).first().click();
  const up = await column();
  expect(ordered(up, 1) && up[0] < down[0], `not ascending: ${up}`);
  await page.close();
});

await test("the filter keeps the rows with the word, more rows come on request", async () => {
  const page = await open("base");
  const rows = () => page.locator("#table-kernels tbody tr").count();
  const first = await rows();
  await page.locator("#table-kernels .more").click();
  expect((await rows()) > first, "no more rows");
  await page.locator("#table-kernels input").fill("gemm");
  const texts = await page.locator("#table-kernels tbody tr").allTextContents();
  expect(texts.length > 0 && texts.length < first + 5 && texts.every((t) => t.includes("gemm")), texts.join());
  await page.close();
});

await test("a kernel's raw name opens below it", async () => {
  const page = await open("base");
  await page.locator("#table-kernels .open").first().click();
  expect((await page.locator("#table-kernels .detail code").textContent()).length > 10, "no raw name");
  await page.close();
});

await test("the timeline zooms by button, wheel, key and overview, and goes back", async () => {
  const page = await open("base");
  const whole = await span(page);
  const canvas = page.locator(".lanes-scroll canvas");
  const before = await picture(canvas);
  expect(before.painted > 5000, `only ${before.painted} pixels are painted`);
  await page.locator("[data-act=in]").click();
  expect(Math.abs((await span(page)) - whole / 2) < whole / 1000, "the button does not halve the span");
  await untilPicture(canvas, unlike(before), "the picture did not change");
  await canvas.hover({ position: { x: 300, y: 60 } });
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -300);
  await page.keyboard.up("Control");
  await page.waitForFunction((limit) => {
    const d = document.querySelector("#timeline-view").dataset;
    return d.to - d.from < limit;
  }, whole / 2.1);
  const wheeled = await span(page);
  await canvas.focus();
  await page.keyboard.press("w");
  await page.waitForFunction((limit) => {
    const d = document.querySelector("#timeline-view").dataset;
    return d.to - d.from < limit;
  }, wheeled * 0.9);
  const moved = await view(page);
  await page.keyboard.press("d");
  await page.waitForFunction(
    (from) => Number(document.querySelector("#timeline-view").dataset.from) > from,
    moved.from,
  );
  await page.locator("[data-act=whole]").click();
  expect(Math.abs((await span(page)) - whole) < 1e-6 * whole, "the whole run does not come back");
  const box = await page.locator("canvas.overview").boundingBox();
  await page.mouse.move(box.x + box.width * 0.25, box.y + 10);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.35, box.y + 10, { steps: 4 });
  await page.mouse.up();
  const chosen = await view(page);
  expect(
    Math.abs(chosen.from / whole - 0.25) < 0.01 && Math.abs(chosen.to / whole - 0.35) < 0.01,
    JSON.stringify(chosen),
  );
  expect(page.problems.length === 0, page.problems.join("; "));
  await page.close();
});

await test("a span's tooltip tells its name and time", async () => {
  const page = await open("full");
  const canvas = page.locator(".lanes-scroll canvas");
  await canvas.scrollIntoViewIfNeeded();
  const box = await canvas.boundingBox();
  for (let x = 4; x < 60; x += 2) {
    await page.mouse.move(box.x + x, box.y + 22 + 19 + 6);
    if (await page.locator(".timeline .tip").count()) break;
  }
  const text = await page.locator(".timeline .tip").textContent();
  expect(/µs, starts at/.test(text) && /GPU 0 stream 7/.test(text), text);
  await page.close();
});

await test("a finding leads to its row", async () => {
  const page = await open("full");
  await page.locator("#finding-2 a.rowlink").click();
  await page.waitForSelector("#table-kernels tr.marked");
  const name = await page.locator("#table-kernels tr.marked td").first().textContent();
  expect(name.includes("nvjet gemm bf16 TNT 64x8x64"), name);
  const inView = await page.locator("#table-kernels tr.marked").evaluate((e) => {
    const r = e.getBoundingClientRect();
    return r.top >= 0 && r.bottom <= innerHeight;
  });
  expect(inView, "the row is out of sight");
  await page.close();
});

await test("the flame graph goes into a frame and back", async () => {
  const page = await open("full");
  const canvas = page.locator(".flame canvas");
  const before = await picture(canvas);
  await canvas.click({ position: { x: 100, y: 27 } });
  expect((await page.locator("#flame-view").getAttribute("data-top")) !== "", "no frame was entered");
  await untilPicture(canvas, unlike(before), "the picture did not change");
  await page.getByRole("button", { name: "Whole tree" }).click();
  await untilPicture(canvas, like(before), "the tree did not come back");
  await page.close();
});

await test("light and dark follow the system and the button", async () => {
  const back = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await open("base", { colorScheme: "light" });
  const dark = await open("base", { colorScheme: "dark" });
  const bright = await back(light),
    dim = await back(dark);
  expect(bright !== dim, `${bright} in both`);
  const drawn = await picture(light.locator(".lanes-scroll canvas"));
  await light.locator("#theme").click();
  expect((await back(light)) === dim, "the button does not turn it dark");
  await untilPicture(light.locator(".lanes-scroll canvas"), unlike(drawn), "the canvas kept its colours");
  await light.close();
  await dark.close();
});

await test("the page does not scroll sideways at 800 and 390 pixels", async () => {
  const wide = [
    ...(await tooWide(["base", "full", "hostile"], 800)),
    ...(await tooWide(["base", "full", "hostile"], 390)),
  ];
  expect(wide.length === 0, wide.join("; "));
});

await test("hostile names are text", async () => {
  for (const name of ["hostile", "full"]) {
    const page = await open(name);
    for (const button of await page.locator(".more").all()) await button.click();
    const found = await page.evaluate(() => ({
      hacked: window.hacked,
      scripts: document.scripts.length,
      images: document.images.length,
      text: document.body.innerText,
    }));
    expect(found.hacked === undefined, `${name}: a name ran as script`);
    expect(found.scripts === 2 && found.images === 0, `${name}: ${found.scripts} scripts, ${found.images} images`);
    expect(found.text.includes("<img src=x onerror="), `${name}: the name is not shown`);
    expect(page.problems.length === 0, `${name}: ${page.problems.join("; ")}`);
    await page.close();
  }
});

await browser.close();
