// SPDX-License-Identifier: Apache-2.0
// compare.mjs CHROMIUM FOLDER: opens FOLDER/{pair,hostile,empty}.html as files in Chromium and uses them as a reader
// would. Prints "PASS name" or "FAIL name: why"; the suite tests/suites/compare_page.py makes the pages.
import { browser, expect, like, open, picture, test, tooWide, unlike, untilPicture } from "./page.mjs";

const data = (page) => page.evaluate(() => JSON.parse(document.getElementById("report-data").textContent));
const view = (page) =>
  page
    .locator("#pair-view")
    .evaluate((e) => ({ from: Number(e.dataset.from), to: Number(e.dataset.to), fromB: Number(e.dataset.fromB) }));
const lanes = (page) => page.locator("#pair-view .lanes-scroll canvas");
// "+42.4 ms" as milliseconds.
function toMs(text) {
  const [number, unit] = text.replace("−", "-").trim().split(/\s/);
  return unit ? Number(number) * { ns: 1e-6, µs: 1e-3, ms: 1, s: 1e3 }[unit] : Number(number);
}

await test("a comparison opens as a file without a console message, with every section", async () => {
  const page = await open("pair");
  for (const id of ["waterfall", "timelines", "flame", "tables", "similarity", "runs"])
    expect(await page.locator(`section#${id}`).count(), `no section ${id}`);
  expect(page.problems.length === 0, page.problems.join("; "));
  await page.close();
  const hostile = await open("hostile");
  for (const id of ["shifts", "counters"]) expect(await hostile.locator(`section#${id}`).count(), `no section ${id}`);
  await hostile.close();
});

await test("the steps of the waterfall sum to the difference and stand end to end", async () => {
  for (const name of ["pair", "hostile"]) {
    const page = await open(name);
    const model = await data(page);
    const more = page.locator("#fall > .more");
    if (await more.count()) await more.click();
    const deltas = (await page.locator("#fall .fall-item .fall-delta").allTextContents()).map(toMs);
    expect(deltas.length === model.contributions.length, `${deltas.length} steps`);
    const sum = deltas.reduce((s, v) => s + v, 0);
    expect(Math.abs(sum - model.delta_ms) < 0.06 * deltas.length, `${name}: ${sum} of ${model.delta_ms}`);
    const bars = await page.locator("#fall .track:has(.level) .step").evaluateAll((list) =>
      list.map((e) => {
        const r = e.getBoundingClientRect();
        return [r.left, r.right, e.className];
      }),
    );
    for (let i = 1; i < bars.length; ++i) {
      const [before, now] = [bars[i - 1], bars[i]];
      const end = before[2].includes("slower") ? before[1] : before[0];
      const start = now[2].includes("slower") ? now[0] : now[1];
      expect(Math.abs(end - start) <= 4, `${name}: step ${i + 1} begins ${start - end} pixels off`);
    }
    await page.close();
  }
});

await test("a step opens to its calls and evidence, and closes", async () => {
  const page = await open("pair");
  const model = await data(page);
  await page.locator("#change-1 > button").click();
  expect(
    (await page.locator("#table-parts-1 tbody tr").count()) >= Math.min(15, model.contributions[0].parts.length),
    "no parts",
  );
  const text = await page.locator("#change-1 .opened").innerText();
  expect(text.includes(model.contributions[0].text) && text.includes("Evidence in B"), text.slice(0, 200));
  await page.locator("#change-1 > button").click();
  expect((await page.locator(".opened").count()) === 0, "it stays open");
  await page.close();
});

await test("both timelines zoom and move together, aligned or on one clock", async () => {
  const page = await open("pair");
  const whole = await view(page);
  const before = await picture(lanes(page));
  expect(before.painted > 5000, `only ${before.painted} pixels are painted`);
  expect(whole.from === 0 && whole.fromB === 0, JSON.stringify(whole));
  for (let i = 0; i < 3; ++i) await page.locator("#pair-view [data-act=in]").click();
  const near = await view(page);
  expect(Math.abs(near.to - near.from - whole.to / 8) < whole.to / 1000, "three halvings are not an eighth");
  expect(near.fromB > near.from * 1.02, `B is slower, so it is later there: ${JSON.stringify(near)}`);
  await page.locator("[data-act=align]").click();
  const clock = await view(page);
  expect(clock.fromB === clock.from, "not on one clock");
  await page.locator("[data-act=align]").click();
  await lanes(page).scrollIntoViewIfNeeded();
  const box = await lanes(page).boundingBox();
  await page.mouse.move(box.x + 600, box.y + 60);
  await page.mouse.down();
  await page.mouse.move(box.x + 300, box.y + 60, { steps: 5 });
  await page.mouse.up();
  const moved = await view(page);
  expect(
    moved.from > near.from && Math.abs(moved.to - moved.from - (near.to - near.from)) < 1e-6,
    "dragging does not move",
  );
  await lanes(page).focus();
  await page.keyboard.press("w");
  await page.waitForFunction(
    (limit) => {
      const d = document.querySelector("#pair-view").dataset;
      return d.to - d.from < limit;
    },
    (near.to - near.from) * 0.9,
  );
  await page.locator("#pair-view [data-act=whole]").click();
  await untilPicture(lanes(page), like(before), "the whole does not come back");
  expect(page.problems.length === 0, page.problems.join("; "));
  await page.close();
});

await test("the tooltip tells name, duration and partner, and colour tells the change", async () => {
  const page = await open("pair");
  const model = await data(page);
  // The longest unchanged thing of A, brought into sight by dragging over the overview.
  const track = model.timeline.a;
  let at = -1;
  track.dur_ms.forEach((d, i) => {
    if (track.partner[i] !== null && track.change[i] === null && (at < 0 || d > track.dur_ms[at])) at = i;
  });
  const strip = await page.locator("#pair-view canvas.overview").boundingBox();
  const whole = await view(page);
  const x = (ms) => strip.x + (ms / whole.to) * strip.width;
  const middle = track.start_ms[at] + track.dur_ms[at] / 2;
  await page.mouse.move(x(middle) - 6, strip.y + 8);
  await page.mouse.down();
  await page.mouse.move(x(middle) + 6, strip.y + 8, { steps: 4 });
  await page.mouse.up();
  const now = await view(page);
  await lanes(page).scrollIntoViewIfNeeded();
  const box = await lanes(page).boundingBox();
  await page.mouse.move(box.x + ((middle - now.from) / (now.to - now.from)) * box.width, box.y + 22 + 20 + 10);
  const text = await page.locator("#pair-view .tip").innerText();
  const name = model.timeline.names[track.name[at]];
  expect(
    text.includes(name.slice(0, 40)) &&
      /A: .*, starts at /.test(text) &&
      /\nB: /.test(text) &&
      /\([+-]?[\d.]+/.test(text),
    text,
  );
  await page.close();
});

await test("choosing a change fades the rest, the next one comes into sight", async () => {
  const page = await open("pair");
  const model = await data(page);
  const before = await picture(lanes(page));
  await page.locator(".chip").first().click();
  expect((await page.locator(".chip[aria-pressed=true]").count()) === 1, "no chip is pressed");
  await untilPicture(lanes(page), unlike(before), "nothing fades");
  await page.locator("[data-act=next]").click();
  const now = await view(page);
  const rank = Number((await page.locator(".chip").first().innerText()).split(".")[0]);
  const inside = (track, from, to) =>
    track.start_ms.some((s, i) => track.change[i] === rank && s <= to && s + track.dur_ms[i] >= from);
  expect(
    inside(model.timeline.a, now.from, now.to) || inside(model.timeline.b, now.fromB, now.fromB + now.to - now.from),
    "no such change in sight",
  );
  await page.close();
});

await test("the flame graph of the difference goes into a frame, changes its measure, and tells both times", async () => {
  const page = await open("pair");
  const canvas = page.locator(".flame canvas");
  const before = await picture(canvas);
  await page.locator(".flame").getByRole("button", { name: "B", exact: true }).click();
  await untilPicture(canvas, unlike(before), "B alone looks like both");
  await page.locator(".flame").getByRole("button", { name: "Both", exact: true }).click();
  await canvas.click({ position: { x: 100, y: 63 } });
  expect((await page.locator("#flame-view").getAttribute("data-top")) !== "", "no frame was entered");
  await page.getByRole("button", { name: "Whole tree" }).click();
  await canvas.hover({ position: { x: 100, y: 9 } });
  const model = await data(page);
  const text = await page.locator(".flame .tip").innerText();
  expect(text.includes("(run)") && /A .*, B /.test(text), text);
  expect(model.flame.device.b_ms > model.flame.device.a_ms && text.includes("+"), text);
  await page.getByRole("button", { name: "Host time" }).click();
  await untilPicture(canvas, unlike(before), "host time looks like device time");
  await page.close();
});

await test("tables change by button, sort by size, filter by name", async () => {
  const page = await open("pair");
  const model = await data(page);
  const cells = async (id, column) =>
    await page.locator(`#table-${id} tbody td:nth-child(${column})`).allTextContents();
  const sizes = (await cells("kernel", 2)).map((t) => Math.abs(toMs(t)));
  expect(sizes.length > 5 && sizes.every((v, i) => i === 0 || v <= sizes[i - 1] + 0.05), `not by size: ${sizes}`);
  for (const [button, id, key] of [
    ["By operator", "op", "by_op"],
    ["By stage", "stage", "by_stage"],
    ["By module", "module", "by_module"],
  ]) {
    await page.getByRole("button", { name: button }).click();
    expect((await cells(id, 1)).length === Math.min(15, model[key].length), `${button}: rows`);
  }
  await page.getByRole("button", { name: "By kernel" }).click();
  await page.locator("#table-kernel input").fill("gemm");
  const names = await cells("kernel", 1);
  expect(names.length > 0 && names.every((n) => n.includes("gemm")), names.join());
  await page.close();
});

await test("a comparison is light and dark", async () => {
  const back = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await open("pair", { colorScheme: "light" });
  const dark = await open("pair", { colorScheme: "dark" });
  expect((await back(light)) !== (await back(dark)), "both are the same");
  const drawn = await picture(lanes(light));
  await light.locator("#theme").click();
  expect((await back(light)) === (await back(dark)), "the button does not turn it dark");
  await untilPicture(lanes(light), unlike(drawn), "the canvas kept its colours");
  await light.close();
  await dark.close();
});

await test("a comparison does not scroll sideways at 800 and 390 pixels", async () => {
  const wide = [
    ...(await tooWide(["pair", "hostile", "empty"], 800)),
    ...(await tooWide(["pair", "hostile", "empty"], 390)),
  ];
  expect(wide.length === 0, wide.join("; "));
});

await test("hostile names in a comparison are text, 500 changes are shown on request", async () => {
  const page = await open("hostile");
  expect((await page.locator("#fall .fall-item").count()) === 12, "not the first 12");
  for (const button of await page.locator(".more").all()) await button.click();
  expect((await page.locator("#fall .fall-item").count()) === 500, "not all 500");
  await page.locator("#change-7 > button").click();
  for (const name of ["By operator", "By module", "By stage"]) await page.getByRole("button", { name }).click();
  const found = await page.evaluate(() => ({
    hacked: window.hacked,
    scripts: document.scripts.length,
    images: document.images.length,
    text: document.body.innerText,
  }));
  expect(found.hacked === undefined, "a name ran as script");
  expect(found.scripts === 2 && found.images === 0, `${found.scripts} scripts, ${found.images} images`);
  expect(found.text.includes("<img src=x onerror="), "the name is not shown");
  expect(!/NaN|undefined|Infinity|null/.test(found.text.replaceAll("nullptr", "")), "a missing value shows");
  expect(page.problems.length === 0, page.problems.join("; "));
  await page.close();
});

await test("two empty runs have a page too", async () => {
  const page = await open("empty");
  const text = await page.evaluate(() => document.body.innerText);
  expect(text.includes("No change adds or saves time"), text.slice(0, 300));
  expect(!/NaN|undefined|Infinity|null/.test(text), text.slice(0, 500));
  expect(page.problems.length === 0, page.problems.join("; "));
  await page.close();
});

await browser.close();
