// SPDX-License-Identifier: Apache-2.0
// docs.mjs CHROMIUM URL: opens /docs of a server in Chromium. Prints "PASS name" or "FAIL name: why"; the suite tests/suites/serve_docs.py starts the
// server.
import { browser, expect, test } from "./page.mjs";

const url = process.argv[3];

// A page whose complaints are kept: what its policy refused, errors of scripts, requests that failed.
async function open() {
  const page = await browser.newPage();
  const complaints = [];
  page.on(
    "console",
    (message) => message.type() === "error" && complaints.push(`${message.text()} ${message.location().url}`),
  );
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("requestfailed", (request) => complaints.push(`${request.url()} failed`));
  await page.goto(`${url}/docs`);
  await page.waitForSelector("section");
  return { page, complaints };
}

await test("the page lists every method of every path", async () => {
  const { page, complaints } = await open();
  const described = await (await fetch(`${url}/openapi.json`)).json();
  const wanted = Object.entries(described.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => method.toUpperCase() + path),
  );
  const shown = await page.$$eval("section h2", (headings) => headings.map((heading) => heading.textContent));
  expect(JSON.stringify(shown.sort()) === JSON.stringify(wanted.sort()), `${shown.length} of ${wanted.length} shown`);
  expect(complaints.length === 0, complaints.join("; "));
  await page.close();
});

await test("the filter leaves what it names", async () => {
  const { page } = await open();
  await page.fill("#filter", "critical-path");
  const visible = await page.$$eval("section", (sections) =>
    sections.filter((section) => section.offsetParent !== null).map((section) => section.textContent),
  );
  expect(visible.length > 0 && visible.every((text) => text.includes("critical-path")), `${visible.length} sections`);
  await page.close();
});

await test("the policy refuses scripts and styles that are not files of the server", async () => {
  const { page, complaints } = await open();
  const refused = await page.evaluate(async () => {
    const seen = [];
    document.addEventListener("securitypolicyviolation", (event) => seen.push(event.effectiveDirective));
    const add = (name, set) => document.body.append(Object.assign(document.createElement(name), set));
    add("script", { textContent: "window.hacked = 1" });
    add("script", { src: "data:text/javascript,window.hacked=2" });
    add("div", { innerHTML: '<img src="x" onerror="window.hacked=3">' });
    add("iframe", { src: "https://example.com/" });
    await new Promise((resolve) => {
      const look = () => (new Set(seen).size >= 3 ? resolve() : setTimeout(look, 20));
      look();
    });
    return { seen: [...new Set(seen)], hacked: window.hacked };
  });
  expect(refused.hacked === undefined, `a script ran: ${refused.hacked}`);
  expect(
    refused.seen.some((name) => name.startsWith("script-src")) && refused.seen.includes("frame-src"),
    refused.seen.join(", "),
  );
  expect(complaints.length > 0, "the browser reported nothing");
  await page.close();
});

await browser.close();
