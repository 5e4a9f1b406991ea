// SPDX-License-Identifier: Apache-2.0
// What the tests of the pages share: a page opened as a file in Chromium, tests that print PASS or FAIL, and pictures.
import { chromium } from "playwright-core";

export const [executablePath, folder] = process.argv.slice(2);
export const browser = await chromium.launch({
  executablePath,
  args: [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ],
});

export async function open(name, options = {}) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, ...options });
  page.problems = [];
  // The one that is left out is about this test's own reading of the canvas.
  page.on("console", (m) => {
    if ((m.type() === "error" || m.type() === "warning") && !m.text().includes("willReadFrequently"))
      page.problems.push(m.text());
  });
  page.on("pageerror", (e) => page.problems.push(e.message));
  page.on("request", (r) => {
    if (!r.url().startsWith("file://") && !r.url().startsWith("data:")) page.problems.push(`asks for ${r.url()}`);
  });
  page.on("dialog", (d) => {
    page.problems.push("a dialog opened");
    d.dismiss();
  });
  await page.goto(`file://${folder}/${name}.html`);
  await page.waitForSelector("#verdict");
  await page.waitForFunction(
    () => document.querySelectorAll("canvas").length === 0 || document.querySelector("canvas").width > 300,
  );
  return page;
}

export function expect(condition, why) {
  if (!condition) throw new Error(why);
}

export async function test(name, body) {
  try {
    const said = await body();
    console.log(`PASS browser ${name}${said ? ` (${said})` : ""}`);
  } catch (error) {
    console.log(`FAIL browser ${name}: ${String(error.message).split("\n")[0]}`);
  }
}

// How many pixels of a canvas are painted, and a number that changes with its picture.
export const picture = (locator) =>
  locator.evaluate((c) => {
    const data = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
    let painted = 0,
      hash = 0;
    for (let i = 0; i < data.length; i += 4) {
      if (data[i + 3] > 0) ++painted;
      hash = (Math.imul(hash, 31) + data[i] + data[i + 1] * 3 + data[i + 2] * 7 + data[i + 3]) | 0;
    }
    return { painted, hash };
  });

// The picture once it is as wanted: pages redraw after the event.
export async function untilPicture(locator, isWanted, why) {
  const deadline = Date.now() + 10_000;
  for (;;) {
    const now = await picture(locator);
    if (isWanted(now)) return now;
    if (Date.now() > deadline) throw new Error(why);
  }
}
export const unlike = (before) => (now) => now.hash !== before.hash;
export const like = (before) => (now) => now.hash === before.hash;

// The names of pages that are wider than the window.
export async function tooWide(names, width) {
  const out = [];
  for (const name of names) {
    const page = await open(name, { viewport: { width, height: 900 } });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    if (wide > width) out.push(`${name} is ${wide} pixels wide in ${width}`);
    await page.close();
  }
  return out;
}
