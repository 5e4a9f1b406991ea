// SPDX-License-Identifier: Apache-2.0
// Checks MCP over HTTP with the official client: the same answers as over stdio, progress, cancel, roles, sessions.
// Usage: node check_http.mjs PROGRAM STORE TRACE; STORE has runs and no accounts, TRACE is a profile that is not in it.
// Prints PASS or FAIL and the reason for each check.
import { execFileSync, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import assert from 'node:assert/strict';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CallToolResultSchema, ListTasksResultSchema, ResourceListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { allTools, became, call, connect, ended } from './session.mjs';
import { aTaskGivesTheAnswerOfItsTool, follow, longToolsAreTasks, tasksAreListedCancelledAndAnnounced } from './tasks.mjs';

const [program, store, trace] = process.argv.slice(2);
const cli = (...words) => JSON.parse(execFileSync(program, ['--store', store, '--json', ...words], { maxBuffer: 1 << 30 }));
const run = cli('ls', '--limit', '0').runs.find((one) => one.model === 'base').run_id;
const token = Object.fromEntries(['viewer', 'editor', 'admin'].map((role) => [role, cli('auth', 'token-add', role, '--role', role).secret]));
const ENDLESS = 'SELECT count(*) FROM kernel a, kernel b, kernel c, kernel d WHERE a.id + b.id + c.id + d.id = -1';

async function startServer(port = 0) {
  const server = spawn(program, ['--store', store, 'serve', '--listen', `127.0.0.1:${port}`, '--heavy-workers', '1'], { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  const url = await new Promise((resolve, reject) => {
    server.stderr.on('data', (piece) => {
      said += piece;
      const found = said.match(/at (http:\/\/127\.0\.0\.1:(\d+))\n/);
      if (found) resolve(found[1]);
    });
    server.on('exit', () => reject(new Error(`the server ended: ${said}`)));
  });
  return { url, port: Number(url.split(':')[2]), process: server };
}

async function stopServer(server) {
  const ended = new Promise((resolve) => server.process.on('exit', resolve));
  server.process.kill('SIGTERM');
  return ended;
}

async function over(url, role, query = '') {
  const headers = role ? { Authorization: `Bearer ${token[role]}` } : {};
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp${query}`), { requestInit: { headers } });
  const client = new Client({ name: 'neurolens-check', version: '1.0.0' });
  await client.connect(transport);
  return client;
}

const post = (url, body, headers = {}) => fetch(`${url}/mcp`, { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body),
  headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', Authorization: `Bearer ${token.viewer}`, ...headers } });
const INITIALIZE = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } } };
const PING = { jsonrpc: '2.0', id: 2, method: 'ping' };

let server = await startServer();
const checks = {
  async 'the tools are those of stdio without files of the server'(client, local) {
    const names = async (one) => (await allTools(one)).map((tool) => tool.name);
    const expected = await names(local);
    const editor = await over(server.url, 'editor');
    const programs = ['record', 'prove'];
    assert.deepEqual(await names(editor), [...expected.filter((name) => !programs.includes(name)), 'what-if', 'import'], 'no programs of the server');
    assert.deepEqual(await names(client), [...expected.filter((name) => !programs.includes(name) && name !== 'job'), 'what-if'], 'a viewer starts no jobs and imports nothing');
    const admin = await over(server.url, 'admin', '?toolset=all');
    for (const name of ['record', 'record_only', 'run', 'prove', 'bench', 'deep', 'queue', 'call-tool']) {
      await assert.rejects(call(admin, name, { command: ['true'] }), (error) => error.code === -32602, name);
      const job = await call(admin, 'job', { action: 'start', job: name, params: '{"command": ["true"]}' });
      assert.ok(job.isError && /unknown operation/.test(job.content[0].text), `${name}: ${job.content[0].text}`);
    }
    await admin.close();
    const { properties } = (await allTools(editor)).find((tool) => tool.name === 'import').inputSchema;
    assert.ok(properties.upload && !properties.paths, 'files of the server are named');
    const refused = await call(editor, 'import', { paths: ['/etc/passwd'], upload: ['x'] });
    assert.ok(refused.isError && /paths|upload/.test(refused.content[0].text), refused.content[0].text);
    await editor.close();
    assert.ok(expected.length >= 10);
  },

  async 'every default tool answers as over stdio'(client, local) {
    const requests = [['find_runs', {}], ['explain', { run }], ['findings', { run }], ['kernels', { run, limit: 0 }], ['operators', { run }], ['idle', { run }],
      ['what-if', { run }], ['timeline_window', { run, from_ms: 1, to_ms: 20 }], ['query', { args: [run, 'SELECT id, name FROM kernel ORDER BY id'] }], ['compare', { a: [run], b: [run] }]];
    const offered = (await allTools(client)).map((tool) => tool.name);
    assert.deepEqual(new Set(requests.map(([name]) => name)), new Set(offered));
    for (const [name, args] of requests) {
      for (const max_tokens of [2000, 10_000_000]) {
        const [here, there] = await Promise.all([client, local].map((one) => call(one, name, { ...args, max_tokens })));
        for (const answer of [here, there]) delete answer.structuredContent?.elapsed_ms;
        assert.deepEqual(here.structuredContent, there.structuredContent, name);
        assert.equal(here.isError, there.isError, name);
      }
    }
  },

  async 'resources and prompts are offered too'(client) {
    const { resources } = await client.listResources();
    assert.ok(resources.some((resource) => resource.uri === `neurolens://runs/${run}`));
    assert.match((await client.readResource({ uri: `neurolens://runs/${run}/report` })).contents[0].text, /^# /);
    assert.equal((await client.listPrompts()).prompts.length, 3);
  },

  async 'progress comes in an event stream before the answer'(client) {
    const seen = [];
    const answer = await call(client, 'explain', { run }, { onprogress: (progress) => seen.push(progress) });
    assert.ok(!answer.isError && answer.structuredContent);
    assert.ok(seen.length > 0, 'no progress');
    const id = (await post(server.url, INITIALIZE)).headers.get('mcp-session-id');
    const streamed = await post(server.url, { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'rules', arguments: {}, _meta: { progressToken: 'p' } } }, { 'Mcp-Session-Id': id });
    assert.equal(streamed.headers.get('content-type'), 'text/event-stream');
    const messages = (await streamed.text()).split('\n').filter((line) => line.startsWith('data: ')).map((line) => JSON.parse(line.slice(6)));
    assert.equal(messages[0].method, 'notifications/progress');
    assert.equal(messages.at(-1).id, 7);
  },

  async 'a cancelled tool stops, and so does one whose client leaves'(client) {
    const busy = async () => Number((await (await fetch(`${server.url}/metrics`, { headers: { Authorization: `Bearer ${token.viewer}` } })).text()).match(/neurolens_workers_busy\{pool="heavy"\} (\d)/)[1]);
    const until = async (wanted) => { while ((await busy()) !== wanted) await new Promise((resolve) => setTimeout(resolve, 20)); };
    const control = new AbortController();
    const ended = assert.rejects(call(client, 'query', { args: [run, ENDLESS], timeout: 300 }, { signal: control.signal }));
    await until(1);
    await client.ping();
    control.abort();
    await ended;
    await until(0);
    const id = (await post(server.url, INITIALIZE)).headers.get('mcp-session-id');
    for (const _meta of [{}, { progressToken: 1 }]) {
      const leave = new AbortController();
      const left = assert.rejects((async () => (await fetch(`${server.url}/mcp`, { method: 'POST', signal: leave.signal,
        headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', Authorization: `Bearer ${token.viewer}`, 'Mcp-Session-Id': id },
        body: JSON.stringify({ jsonrpc: '2.0', id: 3, method: 'tools/call', params: { name: 'query', arguments: { args: [run, ENDLESS], timeout: 300 }, _meta } }) })).text())());
      await until(1);
      leave.abort();
      await left;
      await until(0);
    }
    assert.ok(!(await call(client, 'find_runs')).isError);
  },

  async 'a viewer has no tool that changes the store, an editor has'() {
    const viewer = await over(server.url, 'viewer', '?toolset=all'), editor = await over(server.url, 'editor', '?toolset=all');
    const tools = await allTools(viewer), more = await allTools(editor);
    const writing = more.filter((tool) => !tools.some((one) => one.name === tool.name)).map((tool) => tool.name);
    assert.ok(tools.length > 20 && ['rm', 'tag', 'baseline'].every((name) => writing.includes(name)), `${writing}`);
    assert.ok(writing.every((name) => !more.find((tool) => tool.name === name).annotations.readOnlyHint));
    for (const name of writing) await assert.rejects(call(viewer, name, { run, tags: ['from=viewer'] }), (error) => error.code === -32602, name);
    assert.ok(!(await call(editor, 'tag', { run, tags: ['from=editor'] })).isError);
    assert.deepEqual(cli('show', run).run.tags, { from: 'editor' });
    const logged = readFileSync(`${store}/audit.log`, 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line)).at(-1);
    assert.deepEqual([logged.actor, logged.action, logged.outcome], ['token:editor', 'tag', 'ok']);
    for (const name of ['run', 'record', 'record_only', 'prove', 'bench', 'deep', 'queue', 'call-tool', 'auth', 'serve', 'mcp', 'config']) assert.ok(!more.some((tool) => tool.name === name), name);
    await viewer.close();
    await editor.close();
  },

  async 'jobs have owners, survive a restart and are in the audit log'() {
    cli('auth', 'token-add', 'other', '--role', 'editor');
    let editor = await over(server.url, 'editor');
    const quick = (await call(editor, 'job', { action: 'start', job: 'idle', params: JSON.stringify({ run }) })).structuredContent.jobs[0];
    assert.equal(quick.owner, 'token:editor');
    assert.equal((await ended(editor, quick.job_id)).state, 'done');
    const result = await call(editor, 'job', { action: 'result', job: quick.job_id, max_tokens: 10_000_000 });
    assert.deepEqual(result.structuredContent.reply, cli('idle', run));
    assert.ok((await call(editor, 'job', { action: 'wait', job: quick.job_id })).isError);
    const long = (await call(editor, 'job', { action: 'start', job: 'query', params: JSON.stringify({ args: [run, ENDLESS], timeout: 80000 }) })).structuredContent.jobs[0].job_id;
    await became(editor, long, ['running']);
    assert.equal(await stopServer(server), 0);
    server = await startServer(server.port);
    await editor.close();
    editor = await over(server.url, 'editor');
    await became(editor, long, ['running']);
    const admin = await over(server.url, 'admin');
    const mine = (await call(admin, 'job', { action: 'start', job: 'query', params: JSON.stringify({ args: [run, ENDLESS], timeout: 80000 }) })).structuredContent.jobs[0].job_id;
    const refused = await call(editor, 'job', { action: 'cancel', job: mine });
    assert.ok(refused.isError && /belongs to token:admin/.test(refused.content[0].text), refused.content[0].text);
    for (const job of [long, mine]) assert.ok(!(await call(admin, 'job', { action: 'cancel', job })).isError);
    for (const job of [long, mine]) assert.equal((await ended(admin, job)).state, 'cancelled');
    const logged = readFileSync(`${store}/audit.log`, 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line)).filter((entry) => entry.action === 'jobs');
    assert.ok(logged.some((entry) => entry.actor === 'token:editor' && entry.outcome === 'unsupported'), 'the refusal');
    await editor.close();
    await admin.close();
  },

  async 'an editor has tasks, a viewer has none'() {
    const viewer = await over(server.url, 'viewer');
    assert.equal(viewer.getServerCapabilities().tasks, undefined);
    assert.ok((await allTools(viewer)).every((tool) => tool.execution === undefined));
    const ignored = await viewer.request({ method: 'tools/call', params: { name: 'idle', arguments: { run }, task: {} } }, CallToolResultSchema);
    assert.ok(ignored.structuredContent, 'the protocol asks to ignore it');
    await assert.rejects(viewer.request({ method: 'tasks/list' }, ListTasksResultSchema), (error) => error.code === -32601);
    await viewer.close();
    const editor = await over(server.url, 'editor');
    await longToolsAreTasks(editor, run);
    await aTaskGivesTheAnswerOfItsTool(editor, run);
    await tasksAreListedCancelledAndAnnounced(editor, run);
    const own = (await editor.experimental.tasks.listTasks()).tasks[0].taskId;
    const admin = await over(server.url, 'admin');
    await assert.rejects(admin.experimental.tasks.getTask(own), (error) => error.code === -32602, 'the task of another');
    await admin.close();
    await editor.close();
  },

  async 'an upload is imported by the tool, by a task and by a job'() {
    const editor = await over(server.url, 'editor');
    const headers = { Authorization: `Bearer ${token.editor}` };
    const bytes = readFileSync(trace);
    const upload = async () => {
      const made = await fetch(`${server.url}/api/v1/uploads?name=up.json.gz`, { method: 'POST', headers: { ...headers, 'Upload-Length': `${bytes.length}` } });
      const path = made.headers.get('location');
      const sent = await fetch(server.url + path, { method: 'PATCH', body: bytes, headers: { ...headers, 'Upload-Offset': '0', 'Content-Type': 'application/offset+octet-stream' } });
      assert.equal(sent.status, 204);
      return path.split('/').at(-1);
    };
    const first = await call(editor, 'import', { upload: [await upload()] });
    assert.ok(!first.isError, first.content[0].text);
    const { run_id: id } = first.structuredContent.runs[0];
    assert.equal(first.structuredContent.runs[0].files?.[0] ?? 'up.json.gz', 'up.json.gz');
    const seen = await follow(editor, 'import', { upload: [await upload()] });
    assert.equal(seen.result.structuredContent.runs[0].run_id, id, 'the same bytes');
    const job = (await call(editor, 'job', { action: 'start', job: 'import', params: JSON.stringify({ upload: [await upload()] }) })).structuredContent.jobs[0];
    assert.equal((await ended(editor, job.job_id)).state, 'done');
    const gone = await follow(editor, 'import', { upload: ['019a8c00-0000-7000-8000-000000000000'] });
    assert.ok(gone.error, 'an upload that does not exist');
    const refused = await call(editor, 'job', { action: 'start', job: 'import', params: JSON.stringify({ paths: ['/etc/passwd'] }) });
    assert.ok(refused.isError && /upload|paths/.test(refused.content[0].text), refused.content[0].text);
    cli('rm', id, '--yes');
    await editor.close();
  },

  async 'without a login there is no session'() {
    await assert.rejects(over(server.url, ''), /401|nauthorized|login/);
    assert.equal((await post(server.url, INITIALIZE, { Authorization: 'Bearer nl_0' })).status, 401);
    assert.equal((await post(server.url, INITIALIZE, { Origin: 'http://evil.example' })).status, 403);
  },

  async 'a new run is a notification'() {
    const client = await over(server.url, 'viewer');
    assert.equal(client.getServerCapabilities().resources.listChanged, true);
    const told = new Promise((resolve) => client.setNotificationHandler(ResourceListChangedNotificationSchema, resolve));
    const streams = async () => Number((await (await fetch(`${server.url}/metrics`, { headers: { Authorization: `Bearer ${token.viewer}` } })).text()).match(/neurolens_http_event_streams (\d+)/)[1]);
    while ((await streams()) < 1) await new Promise((resolve) => setTimeout(resolve, 20));
    const uploaded = await fetch(`${server.url}/api/v1/runs?name=new.json.gz`, { method: 'POST', body: readFileSync(trace), headers: { Authorization: `Bearer ${token.editor}` } });
    assert.equal(uploaded.status, 200);
    await told;
    await client.close();
  },

  async 'headers and messages are checked'() {
    const begun = await post(server.url, INITIALIZE);
    const id = begun.headers.get('mcp-session-id');
    assert.equal(begun.status, 200);
    assert.match(id, /^[\x21-\x7e]{32,}$/);
    const session = { 'Mcp-Session-Id': id };
    const status = async (...words) => (await post(server.url, ...words)).status;
    assert.equal(await status({ jsonrpc: '2.0', method: 'notifications/initialized' }, session), 202);
    assert.equal(await status({ jsonrpc: '2.0', id: 9, result: {} }, session), 202);
    assert.equal(await status(PING, session), 200);
    assert.equal(await status(PING), 400);
    assert.equal(await status(PING, { 'Mcp-Session-Id': `${id}0` }), 404);
    assert.equal(await status(PING, { ...session, Authorization: `Bearer ${token.editor}` }), 404, 'the session of another');
    assert.equal(await status(PING, { ...session, 'MCP-Protocol-Version': '1999-01-01' }), 400);
    assert.equal(await status(PING, { ...session, 'MCP-Protocol-Version': '2025-06-18' }), 200);
    assert.equal(await status(PING, { ...session, Accept: 'text/html' }), 406);
    assert.equal(await status(PING, { ...session, 'Content-Type': 'text/plain' }), 415);
    assert.equal(await status(INITIALIZE, session), 400);
    assert.equal(await status([INITIALIZE, PING]), 400);
    const broken = await post(server.url, '{', session);
    assert.deepEqual([broken.status, (await broken.json()).error.code], [400, -32700]);
    assert.equal((await fetch(`${server.url}/mcp?toolset=some`, { method: 'POST', body: '{}', headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token.viewer}` } })).status, 400);
    const headers = { Authorization: `Bearer ${token.viewer}`, ...session };
    assert.equal((await fetch(`${server.url}/mcp`, { headers: { ...headers, Accept: 'application/json' } })).status, 406);
    assert.equal((await fetch(`${server.url}/mcp`, { method: 'PUT', headers })).status, 405);
    assert.equal((await fetch(`${server.url}/mcp`, { method: 'DELETE', headers: { ...headers, Authorization: `Bearer ${token.editor}` } })).status, 404);
    assert.equal((await fetch(`${server.url}/mcp`, { method: 'DELETE', headers })).status, 204);
    assert.equal(await status(PING, session), 404);
    assert.equal((await fetch(`${server.url}/mcp`, { headers: { ...headers, Accept: 'text/event-stream' } })).status, 404);
  },

  async 'sessions are bounded, and ending one makes room'() {
    const ids = [];
    let last;
    while ((last = await post(server.url, INITIALIZE, { Authorization: `Bearer ${token.editor}` })).status === 200) ids.push(last.headers.get('mcp-session-id'));
    assert.equal(last.status, 503);
    assert.ok(ids.length <= 64 && ids.length > 10, `${ids.length}`);
    assert.equal((await post(server.url, INITIALIZE)).status, 200, 'others have room');
    for (const id of ids) await fetch(`${server.url}/mcp`, { method: 'DELETE', headers: { Authorization: `Bearer ${token.editor}`, 'Mcp-Session-Id': id } });
    assert.equal((await post(server.url, INITIALIZE, { Authorization: `Bearer ${token.editor}` })).status, 200);
  },

  async 'after a restart the session is unknown, and the client begins again'() {
    const client = await over(server.url, 'viewer');
    assert.equal(await stopServer(server), 0);
    server = await startServer(server.port);
    await assert.rejects(call(client, 'find_runs'), (error) => error.code === 404 || /404|unknown MCP session/.test(error.message));
    const again = await over(server.url, 'viewer');
    assert.ok(!(await call(again, 'find_runs')).isError);
    await again.transport.terminateSession();
    await again.close();
    await client.close();
  },
};

const client = await over(server.url, 'viewer');
const local = await connect(program, store);
for (const [name, check] of Object.entries(checks)) {
  try {
    await check(client, local);
    console.log(`PASS ${name}`);
  } catch (error) {
    console.log(`FAIL ${name}: ${String(error.message).replaceAll('\n', ' ').slice(0, 600)}`);
  }
}
await client.close().catch(() => {});
await local.close();
await stopServer(server);
process.exit(0);
