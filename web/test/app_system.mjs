// SPDX-License-Identifier: Apache-2.0
// app_system.mjs CHROMIUM FOLDER: the System view of a server whose NVML is made, with two GPUs and measured peaks. Prints "PASS name"
// or "FAIL name: why"; the suite tests/suites/app.py makes the store.
import { base, done, neurolens, readable, stop, visit } from "./app_page.mjs";
import { browser, expect, test } from "./page.mjs";

const system = JSON.parse(neurolens("system", "--json"));

await test("the System view shows each GPU, its figures and what is not known", async () => {
  const page = await visit("/system");
  await page.waitForSelector("[data-gpu]");
  expect((await page.locator("[data-gpu]").count()) === 2, `${await page.locator("[data-gpu]").count()} cards`);
  const first = await page.locator("[data-gpu='0']").innerText();
  const [gpu] = system.gpus;
  for (const text of [gpu.name, `${gpu.sm_clock_mhz} MHz`, `${gpu.temperature_c} °C`])
    expect(first.includes(text), `${text} is not in ${first}`);
  expect(!/NaN|undefined|null/.test(first), first);
  await done(page);
});

await test("the figures of the GPUs are read again, and a server that is gone is named", async () => {
  const page = await visit("/system");
  let power_w = 400;
  await page.route("**/api/v1/system", (route) => {
    power_w += 25;
    const [first, ...others] = system.gpus;
    return route.fulfill({ json: { ...system, gpus: [{ ...first, power_w }, ...others] } });
  });
  const shown = (watts) =>
    page.waitForFunction((w) => document.querySelector("[data-gpu='0']")?.innerText.includes(`${w} W`), watts);
  await shown(425);
  await shown(450);
  await page.waitForSelector("[data-gpu='0'] .spark");
  await page.unroute("**/api/v1/system");
  await page.route("**/api/v1/system", (route) => route.abort());
  page.allowed = /ERR_FAILED|Failed to load/;
  await page.getByText("These figures are old").waitFor();
  expect((await page.locator("[data-gpu]").count()) === 2, "the last figures are gone");
  await page.unroute("**/api/v1/system");
  await page.getByText("These figures are old").waitFor({ state: "detached" });
  await done(page);
});

await test("health, recording and software are those of the operation", async () => {
  const page = await visit("/system");
  await page.waitForSelector("#health li");
  expect((await page.locator("#health li").count()) === system.health.length, "not every check is listed");
  for (const check of system.health.filter((h) => h.advice))
    expect((await page.locator("#health").innerText()).includes(check.advice.slice(0, 60)), check.advice);
  expect((await page.locator("#recording li").count()) === system.recording.length, "not every ability is listed");
  const text = await page.locator("#recording").innerText();
  for (const ability of system.recording.filter((a) => !a.works))
    expect(text.includes(ability.detail.slice(0, 40)), `why not: ${ability.detail}`);
  expect((await page.locator("#software").innerText()).includes(system.host.kernel), "no kernel");
  await done(page);
});

await test("measured peaks are listed beside the datasheet", async () => {
  const page = await visit("/system");
  const { compared } = JSON.parse(neurolens("peaks", "--json"));
  expect(compared.length > 0, "the store has no measurement");
  await page.waitForSelector("#table-measured tbody tr");
  const table = await page.locator("#table-measured").innerText();
  for (const figure of compared.slice(0, 3))
    expect(table.includes(figure.figure), `${figure.figure}: ${table.slice(0, 300)}`);
  await done(page);
});

await test("the System view is readable on a phone and in the dark", () =>
  readable("/system", "app_system", async (page) => {
    await page.waitForSelector("[data-gpu]");
  }));

expect(base.startsWith("http"), base);
await stop();
await browser.close();
