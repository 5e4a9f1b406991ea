// SPDX-License-Identifier: Apache-2.0
// Asks a server through the TypeScript client. Usage: node ask.mjs CLIENT URL, where CLIENT is web/src/data/client.ts as one
// JavaScript module. Reads lines {"name", "params"}, and answers each with {"reply"} or {"problem"}.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const { Client } = await import(pathToFileURL(process.argv[2]).href);
const client = new Client(process.argv[3]);
for await (const line of createInterface({ input: process.stdin })) {
  const { name, params } = JSON.parse(line);
  const answer = await client.call(name, params).then(
    (reply) => ({ reply }),
    (error) => ({ problem: error.problem ?? { code: "client", detail: String(error) } }),
  );
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
