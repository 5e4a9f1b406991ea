// SPDX-License-Identifier: Apache-2.0
// Checks `neurolens mcp` with the official client. Usage: node check.mjs PROGRAM STORE [TRACE]; STORE has the bundled
// runs, TRACE is a profile that is not in it. Prints PASS or FAIL and the reason for each check.
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import assert from 'node:assert/strict';
import Ajv2020 from 'ajv/dist/2020.js';
import { allTools, became, call, connect, ended, tokensOf } from './session.mjs';
import { aTaskGivesTheAnswerOfItsTool, follow, longToolsAreTasks, tasksAreListedCancelledAndAnnounced } from './tasks.mjs';

const [program, store, trace] = process.argv.slice(2);
const LIMIT_TOKENS = 2000;
const EXACT = 10_000_000;
const cli = (...words) => JSON.parse(execFileSync(program, ['--store', store, '--json', ...words], { maxBuffer: 1 << 30 }));
const runs = cli('ls', '--limit', '0').runs;
const runOf = (model) => runs.find((run) => run.model === model).run_id;
const ENDLESS = 'SELECT count(*) FROM kernel a, kernel b, kernel c, kernel d WHERE a.id + b.id + c.id + d.id = -1';
const SQL = 'SELECT id, name, start_ns, dur_ns FROM kernel ORDER BY id';

// A call of every default tool about a run, with the same request for the command line.
function requestsFor(run) {
  return [
    ['explain', { run }, ['explain', run]],
    ['findings', { run }, ['findings', run]],
    ['kernels', { run, by_shape: true, limit: 0 }, ['kernels', run, '--by-shape', '--limit', '0']],
    ['operators', { run, limit: 0 }, ['operators', run, '--limit', '0']],
    ['idle', { run, limit: 0 }, ['idle', run, '--limit', '0']],
    ['what-if', { run }, ['what-if', run]],
    ['timeline_window', { run, from_ms: 1, to_ms: 20 }, ['timeline-window', run, '--from-ms', '1', '--to-ms', '20']],
    ['query', { args: [run, SQL] }, ['query', run, SQL]],
    ['compare', { a: [runOf('base')], b: [run] }, ['compare', runOf('base'), run]],
  ];
}
const GENERAL = [
  ['find_runs', {}, ['ls']],
  ['job', {}, ['jobs']],
];

function tidy(value) {
  const { elapsed_ms: _, ...rest } = value; // the time a query took
  return rest;
}

const checks = {
  async 'the default toolset is small and complete'(client) {
    const names = (await allTools(client)).map((tool) => tool.name);
    assert.deepEqual(names, ['explain', 'compare', 'find_runs', 'findings', 'kernels', 'operators', 'idle', 'record', 'timeline_window', 'query', 'prove', 'job']);
  },

  async 'without programs there is no tool that runs one, and others take their place'() {
    const safe = await connect(program, store, '--no-programs');
    const names = (await allTools(safe)).map((tool) => tool.name);
    assert.ok(names.length === 12 && names.includes('what-if') && names.includes('import') && !names.includes('record') && !names.includes('prove'), `${names}`);
    for (const name of ['record', 'run', 'prove', 'bench']) await assert.rejects(call(safe, name, { command: ['true'] }), (error) => error.code === -32602, name);
    await safe.close();
  },

  async 'a program is recorded, and its answer names the run'(client) {
    const marker = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'neurolens-mcp-')), 'ran');
    const script = `import sys, time\nopen(${JSON.stringify(marker)}, 'a').write('x')\nprint('to stdout'); print('to stderr', file=sys.stderr)\nend = time.monotonic() + 0.3\nwhile time.monotonic() < end: sum(range(1000))`;
    const seen = [];
    const answer = await call(client, 'record', { command: ['python3', '-c', script] }, { onprogress: (progress) => seen.push(progress) });
    assert.ok(!answer.isError, answer.content[0].text);
    assert.equal(fs.readFileSync(marker, 'utf8'), 'x', 'it ran once');
    assert.ok(seen.length > 0 && tokensOf(answer) <= LIMIT_TOKENS, `${seen.length} ${tokensOf(answer)}`);
    assert.match(answer.content.at(-1).text, /Last output of the program:\n(.*\n)*to std(out|err)/);
    assert.equal(answer._meta?.['neurolens/next_cursor'], undefined, 'a next page would run it again');
    const again = await call(client, 'record', { command: ['true'], cursor: 'analysis.findings=1' });
    assert.ok(again.isError && /unknown parameter 'cursor'/.test(again.content[0].text), again.content[0].text);
    const { run_id: id, capture } = answer.structuredContent;
    assert.equal(capture.exit_status, 0);
    assert.equal((await call(client, 'explain', { run: id })).structuredContent.run_id, id);
    const failed = await call(client, 'record', { command: ['python3', '-c', 'import os; os.write(2, b"y" * 9000 + b"\\nValueError: wrong shape\\n"); os._exit(7)'] });
    assert.equal(failed.structuredContent.capture.exit_status, 7);
    assert.ok(/ValueError: wrong shape/.test(failed.content.at(-1).text) && tokensOf(failed) <= LIMIT_TOKENS, JSON.stringify(failed.content));
    const missing = await call(client, 'record', { command: ['no-such-program'] });
    assert.ok(missing.isError && missing._meta['neurolens/error'].code === 'not_found', missing.content[0].text);
    const wrong = await call(client, 'record', { comand: ['true'] });
    assert.ok(wrong.isError && /unknown parameter 'comand'/.test(wrong.content[0].text), wrong.content[0].text);
    cli('rm', id, '--yes');
  },

  async 'two commands are proved, and a cancelled proof leaves no process'(client) {
    const answer = await call(client, 'prove', { a: 'sleep 0.03', b: 'true', iterations: 10, warmup: 1, why: false, check_output: false });
    assert.ok(!answer.isError, answer.content[0].text);
    assert.ok(['faster', 'undecided'].includes(answer.structuredContent.verdict) && answer.structuredContent.iterations === 10, JSON.stringify(answer.structuredContent));
    assert.ok(answer.structuredContent.result_id && tokensOf(answer) <= LIMIT_TOKENS);
    const name = `9${process.pid}.25`; // seconds that no other process sleeps
    const sleeping = () => execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' }).split('\n').filter((line) => line.startsWith(`sleep ${name}`)).length;
    for (const [tool, args] of [['prove', { a: `sleep ${name}`, b: 'true' }], ['record', { command: ['sleep', name] }]]) {
      const control = new AbortController();
      const ended = assert.rejects(call(client, tool, args, { signal: control.signal }));
      while (sleeping() === 0) await new Promise((resolve) => setTimeout(resolve, 20));
      await client.ping();
      control.abort();
      await ended;
      while (sleeping() > 0) await new Promise((resolve) => setTimeout(resolve, 20));
    }
    assert.ok(!(await call(client, 'find_runs')).isError);
  },

  async 'compare gives the counters of both sides where they were captured'(client) {
    const run = runOf('llama');
    const plain = await call(client, 'compare', { a: [run], b: [run] });
    assert.deepEqual(plain.structuredContent.counters, [], 'none were captured');
    cli('import', path.join(path.dirname(trace), 'llama_layer_details.csv.gz'), '--attach', run, '--join', 'same_kernel');
    const answer = await call(client, 'compare', { a: [run], b: [run] });
    assert.ok(tokensOf(answer) <= LIMIT_TOKENS);
    const [first] = answer.structuredContent.counters;
    for (const side of [first.a, first.b]) assert.ok(side.source === 'ncu' && side.kernels > 0 && side.achieved_occupancy > 0 && side.l2_hit_rate > 0, JSON.stringify(first));
    assert.ok(answer._meta['neurolens/rows'].counters.total > 10 && answer._meta['neurolens/next_cursor'], 'the rest follows');
  },

  async 'explain and compare take profiles of this machine'(client) {
    const explained = await call(client, 'explain', { run: trace });
    assert.ok(!explained.isError, explained.content[0].text);
    const id = explained.structuredContent.run_id;
    const compared = await call(client, 'compare', { a: [trace], b: [runOf('item_sync')] });
    assert.equal(compared.structuredContent.run_a, id);
    const seen = await follow(client, 'explain', { run: path.relative(process.cwd(), trace) });
    assert.equal(seen.result?.structuredContent?.run_id, id, 'as a task, by a relative path');
  },

  async 'every tool says when to choose it and what it does'(client, all) {
    for (const tool of [...(await allTools(client)), ...(await allTools(all))]) {
      assert.match(tool.name, /^[A-Za-z0-9_.-]{1,64}$/);
      assert.match(tool.description, /\nSelection: Choose/, tool.name);
      assert.ok(tool.title && tool.annotations && tool.outputSchema, tool.name);
      const programs = ['record', 'record_only', 'prove', 'bench', 'deep', 'queue'].includes(tool.name);
      assert.equal(tool.annotations.openWorldHint, programs, tool.name);
      if (programs) assert.deepEqual([tool.annotations.readOnlyHint, tool.annotations.destructiveHint], [false, true], tool.name);
    }
    const byName = Object.fromEntries((await allTools(all)).map((tool) => [tool.name, tool.annotations]));
    assert.equal(byName.kernels.readOnlyHint, true);
    assert.equal(byName.import.readOnlyHint, false);
    assert.equal(byName.import.destructiveHint, false);
    assert.equal(byName.rm.destructiveHint, true);
    assert.deepEqual([byName.job.readOnlyHint, byName.job.idempotentHint], [false, false]);
  },

  async 'all tools: pages of the list, nothing that is about this terminal, files for this machine only'(client, all) {
    const tools = await allTools(all);
    const names = tools.map((tool) => tool.name);
    assert.equal(new Set(names).size, names.length);
    assert.ok(names.length > 20, `${names.length} tools`);
    for (const name of ['run', 'call-tool', 'ctl', 'config', 'mcp', 'docs', 'profile', 'report', 'export', 'serve', 'auth']) assert.ok(!names.includes(name), name);
    for (const name of ['record', 'record_only', 'prove', 'bench', 'deep']) assert.ok(names.includes(name), name);
    const query = (list) => list.find((tool) => tool.name === 'query').inputSchema.properties;
    assert.ok(query(tools).out);
    assert.ok(!query(await allTools(client)).out);
    const refused = await call(client, 'query', { args: [runOf('base'), 'SELECT 1'], out: '/tmp/x' });
    assert.ok(refused.isError && /unknown parameter 'out'/.test(refused.content[0].text));
  },

  async 'every schema is strict JSON Schema 2020-12'(client, all) {
    const ajv = new Ajv2020.default({ strict: true, allowUnionTypes: true });
    for (const tool of await allTools(all)) {
      for (const schema of [tool.inputSchema, tool.outputSchema]) {
        assert.ok(ajv.validateSchema(schema), `${tool.name}: ${ajv.errorsText()}`);
        ajv.compile(schema);
      }
    }
  },

  async 'answers of all default tools over all runs: valid, and at most 2,000 tokens'(client, all) {
    const ajv = new Ajv2020.default({ strict: true, allowUnionTypes: true });
    const validate = Object.fromEntries((await allTools(all)).map((tool) => [tool.name, ajv.compile(tool.outputSchema)]));
    let answers = 0;
    for (const [name, args] of [...GENERAL, ...runs.flatMap((run) => requestsFor(run.run_id))]) {
      const result = await call(client, name, args);
      const tokens = tokensOf(result);
      assert.ok(tokens <= LIMIT_TOKENS, `${name} ${JSON.stringify(args)}: ${tokens} tokens`);
      assert.ok(result.content[0].text.length > 0);
      if (result.isError) {
        // The only refusals here: what a run cannot answer.
        assert.equal(result._meta['neurolens/error'].code, 'unsupported', `${name} ${JSON.stringify(args)}: ${result.content[0].text}`);
        continue;
      }
      assert.ok(validate[name](result.structuredContent), `${name}: ${ajv.errorsText(validate[name].errors)}`);
      answers += 1;
    }
    assert.ok(answers > 8 * runs.length, `${answers} answers`);
  },

  async 'with enough tokens the answer is the reply of the command line'(client) {
    for (const model of ['base', 'resnet50_train_stack', 'compiled_training', 'jax_gelu_norm']) {
      for (const [name, args, words] of [...GENERAL, ...requestsFor(runOf(model))]) {
        let expected;
        try {
          expected = cli(...words);
        } catch {
          continue; // a run that cannot answer this
        }
        const result = await call(client, name, { ...args, max_tokens: EXACT });
        const found = JSON.stringify(tidy(result.structuredContent)), wanted = JSON.stringify(tidy(expected));
        if (name === 'compare') continue; // its `next` names the runs as they were given; checked by value below
        assert.equal(found, wanted, `${name} ${JSON.stringify(args)}`);
      }
      const [a, b] = [runOf('base'), runOf(model)];
      const result = await call(client, 'compare', { a: [a], b: [b], max_tokens: EXACT });
      assert.deepEqual(result.structuredContent, cli('compare', a, b));
    }
  },

  async 'a small max_tokens is kept too'(client) {
    for (const [name, args] of requestsFor(runOf('base'))) {
      const result = await call(client, name, { ...args, max_tokens: 1000 });
      assert.ok(tokensOf(result) <= 1000, `${name}: ${tokensOf(result)} tokens`);
    }
  },

  async 'pages have every row exactly once'(client) {
    const run = runOf('base');
    for (const [name, args, list] of [['kernels', { run, limit: 0, by_shape: true }, 'kernels'], ['operators', { run, limit: 0 }, 'operators'],
      ['query', { args: [run, SQL] }, 'rows'], ['rules', {}, 'rules'], ['find_runs', { limit: 0 }, 'runs'], ['findings', { run }, 'findings']]) {
      const whole = (await call(client, name, { ...args, max_tokens: EXACT })).structuredContent[list];
      const rows = [];
      const max_tokens = name === 'query' ? 20_000 : 2000;
      let cursor, pages = 0, total;
      do {
        const result = await call(client, name, { ...args, max_tokens, ...(cursor ? { cursor } : {}) });
        assert.ok(!result.isError, result.content[0].text);
        assert.ok(tokensOf(result) <= max_tokens, `${name}: ${tokensOf(result)}`);
        rows.push(...result.structuredContent[list]);
        total ??= result._meta?.['neurolens/rows']?.[list]?.total;
        cursor = result._meta?.['neurolens/next_cursor'];
        pages += 1;
      } while (cursor && pages < 500);
      assert.equal(rows.length, whole.length, name);
      assert.equal(total, whole.length, name);
      const key = (row) => JSON.stringify(row.rule ?? row.id ?? row.run_id ?? (row.name ? [row.name, row.shapes, row.calls] : row));
      assert.deepEqual(rows.map(key), whole.map(key), name);
      assert.ok(pages > 1, `${name}: one page`);
    }
    const wrong = await call(client, 'kernels', { run, cursor: 'nothing=1' });
    assert.ok(wrong.isError && /is not a cursor/.test(wrong.content[0].text));
  },

  async 'failures: code, message and hint of the operation; wrong requests are errors of the protocol'(client) {
    const missing = await call(client, 'explain', { run: 'no-such-run' });
    assert.ok(missing.isError);
    assert.equal(missing._meta['neurolens/error'].code, 'not_found');
    assert.match(missing.content[0].text, /^not_found: /);
    const wrong = await call(client, 'kernels', { limit: 'many' });
    assert.ok(wrong.isError);
    assert.equal(wrong._meta['neurolens/error'].message, "parameter 'limit' must be an integer, not \"many\"");
    await assert.rejects(call(client, 'no_such_tool'), (error) => error.code === -32602);
    await assert.rejects(client.readResource({ uri: 'neurolens://runs/no-such-run' }), (error) => error.code === -32002);
    await assert.rejects(client.getPrompt({ name: 'no_such_prompt' }), (error) => error.code === -32602);
  },

  async 'a running tool is cancelled, and the server goes on'(client) {
    const control = new AbortController();
    const endless = 'SELECT count(*) FROM kernel a, kernel b, kernel c, kernel d WHERE a.id + b.id + c.id + d.id = -1';
    const running = call(client, 'query', { args: [runOf('base'), endless], timeout: 300 }, { signal: control.signal });
    const ended = assert.rejects(running);
    await new Promise((resolve) => setTimeout(resolve, 500));
    await client.ping();
    control.abort();
    await ended;
    // Both threads are free again.
    const answers = await Promise.all([1, 2, 3].map(() => call(client, 'find_runs')));
    assert.ok(answers.every((answer) => !answer.isError));
  },

  async 'progress is reported while a profile is imported'(_, client) {
    const seen = [];
    const result = await call(client, 'import', { paths: [trace], force: true }, { onprogress: (progress) => seen.push(progress) });
    assert.ok(!result.isError, result.content[0].text);
    assert.ok(seen.length > 0);
    for (let i = 1; i < seen.length; ++i) assert.ok(seen[i].progress > seen[i - 1].progress);
    const stdin = await call(client, 'import', { paths: ['-'] });
    assert.ok(stdin.isError, 'standard input belongs to the protocol');
    await client.ping();
  },

  async 'resources are the documents and reports of runs'(client) {
    const { resources } = await client.listResources();
    assert.equal(new Set(resources.map((resource) => resource.uri)).size, resources.length);
    const { resourceTemplates } = await client.listResourceTemplates();
    assert.equal(resourceTemplates.length, 2);
    const uri = `neurolens://runs/${runOf('base')}`;
    assert.ok(resources.some((resource) => resource.uri === uri));
    const document = JSON.parse((await client.readResource({ uri })).contents[0].text);
    assert.equal(document.model.name, 'base');
    const report = (await client.readResource({ uri: `${uri}/report` })).contents[0];
    assert.equal(report.mimeType, 'text/markdown');
    assert.match(report.text, /^# /);
    const completed = await client.complete({ ref: { type: 'ref/resource', uri: 'neurolens://runs/{id}' }, argument: { name: 'id', value: runOf('base').slice(0, 20) } });
    assert.ok(completed.completion.values.includes(runOf('base')));
  },

  async 'prompts name tools that exist'(client) {
    const names = (await allTools(client)).map((tool) => tool.name);
    const { prompts } = await client.listPrompts();
    assert.deepEqual(prompts.map((prompt) => prompt.name), ['triage_slow_run', 'explain_regression', 'plan_optimisation']);
    for (const prompt of prompts) {
      const args = Object.fromEntries(prompt.arguments.map((argument) => [argument.name, 'base']));
      const { messages } = await client.getPrompt({ name: prompt.name, arguments: args });
      const tools = [...messages[0].content.text.matchAll(/[Cc]all `([^`]+)`/g)].map((match) => match[1]);
      assert.ok(tools.length > 0 && tools.every((tool) => names.includes(tool)), `${prompt.name}: ${tools}`);
    }
    await client.setLoggingLevel('debug');
  },

  async 'what answers suggest can be called'(client) {
    const listed = (await allTools(client)).map((tool) => tool.name);
    for (const run of runs) {
      const answer = await call(client, 'explain', { run: run.run_id });
      const { next } = answer.structuredContent;
      assert.ok(next.length >= 1 && next.length <= 3, `${run.model}: ${next.length}`);
      for (const step of next) {
        // `what-if` is one for a job where programs take the places.
        assert.ok(listed.includes(step.operation) || step.operation === 'what-if', step.operation);
        const followed = await call(client, step.operation, step.arguments);
        const code = followed._meta?.['neurolens/error']?.code;
        assert.ok(!followed.isError, `${run.model}: ${step.command}: ${code} ${followed.content[0].text}`);
      }
    }
  },

  async 'what comparisons suggest can be called, listed or not'(client) {
    for (const model of ['item_sync', 'eager_attn', 'compile', 'longer_prompt', 'rerun']) {
      const answer = await call(client, 'compare', { a: [runOf('base')], b: [runOf(model)] });
      for (const step of answer.structuredContent.next.filter((one) => one.operation)) {
        const followed = await call(client, step.operation, step.arguments);
        assert.ok(!followed.isError && tokensOf(followed) <= LIMIT_TOKENS, `${model}: ${step.command}: ${followed.content[0].text}`);
      }
    }
    // What changes the store has to be listed.
    await assert.rejects(call(client, 'rm', { runs: [runOf('base')] }), (error) => error.code === -32602);
  },

  async 'hostile names stay text'(client) {
    const hostile = runs.find((run) => run.model.includes('hostile'));
    if (!hostile) return;
    for (const [name, args] of requestsFor(hostile.run_id)) {
      const result = await call(client, name, args);
      for (const block of result.content) assert.doesNotMatch(block.text, /[\u0000-\u0008\u000b-\u001f\u007f\u202e]/, name);
      assert.ok(tokensOf(result) <= LIMIT_TOKENS, name);
    }
  },

  async 'stdout has one message per line and nothing else; the server ends with its input'() {
    const server = spawn(program, ['--store', store, 'mcp'], { stdio: ['pipe', 'pipe', 'inherit'] });
    let out = '';
    server.stdout.on('data', (piece) => (out += piece));
    const ended = new Promise((resolve) => server.on('exit', (code, signal) => resolve([code, signal])));
    const lines = ['{"jsonrpc":"2.0","id":1,"method":"ping"}', 'not json', '', '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"rules"}}'];
    server.stdin.write(lines.join('\r\n') + '\n');
    while (out.split('\n').length < 4) await new Promise((resolve) => setTimeout(resolve, 20));
    server.stdin.end();
    assert.deepEqual(await ended, [0, null]);
    const messages = out.trimEnd().split('\n').map((line) => JSON.parse(line));
    assert.deepEqual(messages.map((message) => message.id), [1, null, 2]);
    assert.equal(messages[1].error.code, -32700);
  },

  async 'a job returns at once, gives the reply of its operation, and others are refused'(client) {
    const params = { run: runOf('base'), limit: 3 };
    const started = await call(client, 'job', { action: 'start', job: 'idle', params: JSON.stringify(params) });
    assert.ok(!started.isError, started.content[0].text);
    const { job_id: id, owner } = started.structuredContent.jobs[0];
    assert.equal(owner, 'local');
    const job = await ended(client, id);
    assert.equal(job.state, 'done');
    const result = await call(client, 'job', { action: 'result', job: id, max_tokens: EXACT });
    assert.deepEqual(result.structuredContent.reply, cli('idle', runOf('base'), '--limit', '3'));
    for (const [args, words] of [[{ job: 'idel' }, /unknown operation/], [{ job: 'idle', params: '{"limt": 1}' }, /unknown parameter 'limt'/], [{ job: 'rm', params: `{"runs": ["${runOf('base')}"]}` }, /changes the store/],
      [{ job: 'idle', params: '[]' }, /JSON object/], [{}, /needs an operation/]]) {
      const refused = await call(client, 'job', { action: 'start', ...args });
      assert.ok(refused.isError && words.test(refused.content[0].text), refused.content[0].text);
    }
    assert.ok((await call(client, 'job', { action: 'result', job: '0000' })).isError);
  },

  async 'a job continues in the next session, and can be cancelled there'() {
    const first = await connect(program, store);
    const started = await call(first, 'job', { action: 'start', job: 'query', params: JSON.stringify({ args: [runOf('base'), ENDLESS], timeout: 80000 }) });
    const id = started.structuredContent.jobs[0].job_id;
    await became(first, id, ['running']);
    await first.close();
    const second = await connect(program, store);
    await became(second, id, ['running']);
    assert.ok(!(await call(second, 'job', { action: 'cancel', job: id })).isError);
    assert.equal((await ended(second, id)).state, 'cancelled');
    const listed = await call(second, 'job', { state: 'cancelled' });
    assert.ok(listed.structuredContent.jobs.some((job) => job.job_id === id));
    await second.close();
  },

  async 'tools that take long can be tasks'(client) {
    await longToolsAreTasks(client, runOf('base'));
  },

  async 'a task gives the answer of its tool'(client) {
    await aTaskGivesTheAnswerOfItsTool(client, runOf('base'));
  },

  async 'tasks are listed, cancelled and announced'(client) {
    await tasksAreListedCancelledAndAnnounced(client, runOf('base'));
  },

  async 'a profile of this machine is imported by a task, and by a job'(_, client) {
    const seen = await follow(client, 'import', { paths: [trace], force: true });
    assert.equal(seen.states.at(-1), 'completed', String(seen.error));
    const made = seen.result.structuredContent.runs[0].run_id;
    assert.equal(cli('show', made).run.run_id, made);
    const job = (await call(client, 'job', { action: 'start', job: 'import', params: JSON.stringify({ paths: [trace] }) })).structuredContent.jobs[0];
    assert.equal((await ended(client, job.job_id)).state, 'done');
    const failed = await follow(client, 'import', { paths: ['no/such/file'] });
    assert.equal(failed.states.at(-1), 'failed');
    cli('rm', made, '--yes');
  },

  async 'a task continues in the next session'() {
    const first = await connect(program, store);
    const stream = first.experimental.tasks.callToolStream({ name: 'query', arguments: { args: [runOf('base'), ENDLESS], timeout: 80000 } }, undefined, { task: {} });
    const { taskId } = (await stream.next()).value.task;
    await became(first, taskId, ['running']);
    await first.close();
    const second = await connect(program, store);
    assert.equal((await second.experimental.tasks.getTask(taskId)).status, 'working');
    await second.experimental.tasks.cancelTask(taskId);
    assert.equal((await ended(second, taskId)).state, 'cancelled');
    await second.close();
  },

  async 'SIGTERM ends the server while a tool runs'() {
    const server = spawn(program, ['--store', store, 'mcp'], { stdio: ['pipe', 'pipe', 'inherit'] });
    const ended = new Promise((resolve) => server.on('exit', (code, signal) => resolve([code, signal])));
    const endless = 'SELECT count(*) FROM kernel a, kernel b, kernel c, kernel d WHERE a.id + b.id + c.id + d.id = -1';
    const params = { name: 'query', arguments: { args: [runOf('base'), endless], timeout: 300 } };
    server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })}\n`);
    await new Promise((resolve) => setTimeout(resolve, 500));
    server.kill('SIGTERM');
    const [code] = await ended;
    assert.equal(code, 0);
  },
};

const client = await connect(program, store);
const all = await connect(program, store, '--toolset', 'all');
for (const [name, check] of Object.entries(checks)) {
  try {
    await check(client, all);
    console.log(`PASS ${name}`);
  } catch (error) {
    console.log(`FAIL ${name}: ${String(error.message).replaceAll('\n', ' ').slice(0, 600)}`);
  }
}
await client.close();
await all.close();
