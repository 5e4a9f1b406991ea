// SPDX-License-Identifier: Apache-2.0
// A session of the official client with `neurolens mcp` over stdio, and what the checks share.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

export async function connect(program, store, ...flags) {
  const transport = new StdioClientTransport({ command: program, args: ['--store', store, 'mcp', ...flags], env: process.env, stderr: 'inherit' });
  const client = new Client({ name: 'neurolens-check', version: '1.0.0' });
  await client.connect(transport);
  return client;
}

// Every tool, over all pages of the list.
export async function allTools(client) {
  const tools = [];
  let cursor;
  do {
    const page = await client.listTools(cursor === undefined ? {} : { cursor });
    tools.push(...page.tools);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return tools;
}

// Tokens as the limit counts them: 4 bytes each, over all that the client receives.
export const tokensOf = (result) => Buffer.byteLength(JSON.stringify(result)) / 4;

export const call = (client, name, args = {}, options) => client.callTool({ name, arguments: args }, undefined, options);

// The job, when it has one of these states.
export async function became(client, id, states) {
  for (;;) {
    const answer = await call(client, 'job', { action: 'show', job: id });
    const job = answer.structuredContent?.jobs[0];
    if (!job) throw new Error(answer.content[0].text);
    if (states.includes(job.state)) return job;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
export const ended = (client, id) => became(client, id, ['done', 'failed', 'cancelled', 'interrupted']);
