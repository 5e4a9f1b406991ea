// SPDX-License-Identifier: Apache-2.0
// Tasks of revision 2025-11-25 through the official client: the same checks over every transport.
import assert from 'node:assert/strict';
import { CallToolResultSchema, TaskStatusNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { allTools, call } from './session.mjs';

const ENDLESS = 'SELECT count(*) FROM kernel a, kernel b, kernel c, kernel d WHERE a.id + b.id + c.id + d.id = -1';
const tasks = (client) => client.experimental.tasks;
const RELATED = 'io.modelcontextprotocol/related-task';

// A task of this call: its states in order, and its result.
async function follow(client, name, args) {
  const seen = { states: [] };
  for await (const message of tasks(client).callToolStream({ name, arguments: args }, CallToolResultSchema, { task: {} })) {
    if (message.type === 'taskCreated') seen.id = message.task.taskId;
    if (message.type === 'taskStatus') seen.states.push(message.task.status);
    if (message.type === 'result') seen.result = message.result;
    if (message.type === 'error') seen.error = message.error;
  }
  return seen;
}

export async function longToolsAreTasks(client, run) {
  const offered = client.getServerCapabilities().tasks;
  assert.deepEqual(offered, { list: {}, cancel: {}, requests: { tools: { call: {} } } });
  const support = Object.fromEntries((await allTools(client)).map((tool) => [tool.name, tool.execution?.taskSupport]));
  for (const name of ['explain', 'compare', 'query', 'kernels']) assert.equal(support[name], 'optional', name);
  for (const name of ['find_runs', 'job']) assert.equal(support[name], undefined, name);
  const refused = tasks(client).callToolStream({ name: 'find_runs', arguments: {} }, CallToolResultSchema, { task: {} });
  assert.match(String((await refused.next()).value.error), /cannot be called as a task/);
  assert.ok((await call(client, 'explain', { run })).structuredContent, 'without a task it answers as before');
}

export async function aTaskGivesTheAnswerOfItsTool(client, run) {
  for (const [name, args] of [['kernels', { run, limit: 0 }], ['explain', { run, max_tokens: 10_000_000 }], ['compare', { a: [run], b: [run] }], ['idle', { run, max_tokens: 500 }]]) {
    const seen = await follow(client, name, args);
    assert.equal(seen.states.at(-1), 'completed', `${name}: ${seen.error}`);
    assert.deepEqual(seen.result._meta[RELATED], { taskId: seen.id });
    delete seen.result._meta[RELATED];
    if (Object.keys(seen.result._meta).length === 0) delete seen.result._meta;
    assert.deepEqual(seen.result, await call(client, name, args), name);
    assert.deepEqual((await tasks(client).getTaskResult(seen.id, CallToolResultSchema)).structuredContent, seen.result.structuredContent, 'asked for again');
  }
  const wrong = await follow(client, 'kernels', { run: 'no-such-run' });
  assert.equal(wrong.states.at(-1), 'failed');
  const { tasks: listed } = await tasks(client).listTasks();
  const failed = listed.find((task) => task.status === 'failed');
  assert.match(failed.statusMessage, /no-such-run/);
  const result = await tasks(client).getTaskResult(failed.taskId, CallToolResultSchema);
  assert.ok(result.isError && /no-such-run/.test(result.content[0].text), result.content[0].text);
  assert.match(String((await follow(client, 'kernels', { limt: 1 })).error), /unknown parameter 'limt'/);
}

export async function tasksAreListedCancelledAndAnnounced(client, run) {
  const heard = [];
  client.setNotificationHandler(TaskStatusNotificationSchema, (notification) => heard.push(notification.params));
  const stream = tasks(client).callToolStream({ name: 'query', arguments: { args: [run, ENDLESS], timeout: 80000 } }, CallToolResultSchema, { task: { ttl: 60000 } });
  const { task } = (await stream.next()).value;
  assert.equal(task.status, 'working');
  assert.equal(task.ttl, null, 'kept as jobs are');
  while (!heard.some((one) => one.taskId === task.taskId && one.status === 'working')) await new Promise((resolve) => setTimeout(resolve, 20)); // it runs
  assert.equal((await tasks(client).getTask(task.taskId)).status, 'working');
  assert.ok((await tasks(client).listTasks()).tasks.some((one) => one.taskId === task.taskId));
  const waiting = assert.rejects(tasks(client).getTaskResult(task.taskId, CallToolResultSchema).then((result) => { if (result.isError) throw new Error(result.content[0].text); }), /cancelled/);
  await client.ping(); // while the result is waited for
  assert.equal((await tasks(client).cancelTask(task.taskId)).status, 'cancelled');
  await waiting;
  while (!heard.some((one) => one.taskId === task.taskId && one.status === 'cancelled')) await new Promise((resolve) => setTimeout(resolve, 20));
  await assert.rejects(tasks(client).cancelTask(task.taskId), (error) => error.code === -32602);
  for (const id of ['', 'x', '019a8c00-0000-7000-8000-000000000000']) await assert.rejects(tasks(client).getTask(id), (error) => error.code === -32602, id);
  await assert.rejects(tasks(client).listTasks('x'), (error) => error.code === -32602);
  for await (const message of stream) if (message.type === 'error') assert.match(String(message.error), /cancelled/);
}

export { follow };
