#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// follow.mjs [PROGRAM [FOLDER]]: an agent without a mind of its own. It asks `compare` (two runs) or `explain` (one)
// through MCP and then only what the answers themselves suggest, until the planted cause of a trace is named. At most
// 3 calls and 6,000 tokens (bytes / 4 of all answers) each; prints a table, exit status 1 when a cause is missed.
// Traces: data/h200, and where FOLDER (default: ../shared/data) has them, public ones with a cause known by hand.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const program = path.resolve(process.argv[2] ?? path.join(root, 'build/release/neurolens'));
const shared = process.argv[3] ?? path.join(process.env.NEUROLENS_SHARED ?? path.join(root, '../shared'), 'data');
const clientFolder = path.join(root, 'tests/mcp');
if (!fs.existsSync(path.join(clientFolder, 'node_modules'))) execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: clientFolder, stdio: 'ignore' });
const { call, connect, tokensOf } = await import(path.join(clientFolder, 'session.mjs'));

const MAX_CALLS = 3, MAX_TOKENS = 6000;
const bundled = (name) => path.join(root, 'data/h200', `${name}.json.gz`);
const paired = (name) => path.join(root, 'data/h200/pairs', `${name}.json.zst`);
const open = (name) => path.join(shared, 'public/kineto', `${name}.json.gz`);
const changed = (files, pairs) => Object.entries(pairs).map(([name, cause]) => ({ name: `base -> ${name}`, runs: [files('base'), files(name)], cause }));
const alone = (files, rules) => Object.entries(rules).map(([name, cause]) => ({ name, runs: [files(name)], cause }));

const cases = [
  ...changed(bundled, {
    item_sync: 'sync_added', h2d_pageable: 'copy_added', eager_attn: 'attention_impl_changed', fp32_mlp: 'precision_upcast',
    longer_prompt: 'work_changed', compile: 'fusion_gained', rerun: 'noise',
  }),
  ...changed(paired, {
    layer_sync: 'sync_added', h2d_pinned: 'copy_added', math_attn: 'attention_impl_changed', fused_norm: 'fusion_gained', unfused_silu: 'fusion_lost',
    extra_kernels: 'kernels_added', python_step: 'host_slower', side_stream: 'contention', more_steps: 'work_changed', low_clock: 'clock_changed', d2d_clone: 'copy_added',
  }),
  ...alone(bundled, { item_sync: 'sync_in_loop', h2d_pageable: 'pageable_transfer', eager_attn: 'attention_unfused', fp32_mlp: 'fp32_in_mixed' }),
  ...alone(open, { tb_resnet50_workers0: 'data_loader_waits', tracelens_mi300_normalization: 'cold_start' }),
].filter(({ runs }) => runs.every((file) => fs.existsSync(file)));

// The causes and rules that an answer names, in its order.
function named(answer) {
  const { contributions = [], findings = [] } = answer.structuredContent ?? {};
  return [...contributions.filter((one) => one.significant || one.cause === 'noise').map((one) => one.cause), ...findings.map((one) => one.rule)];
}

async function follow(client, { runs, cause }) {
  const waiting = [runs.length === 2 ? ['compare', { a: [runs[0]], b: [runs[1]] }] : ['explain', { run: runs[0] }]];
  let calls = 0, tokens = 0, place = '';
  while (waiting.length > 0 && calls < MAX_CALLS && !place) {
    const [operation, args] = waiting.shift();
    const answer = await call(client, operation, args);
    calls += 1;
    tokens += tokensOf(answer);
    const at = named(answer).indexOf(cause);
    // Of a comparison the largest change has to be the planted one; "noise" is that nothing changed.
    if (at === 0 || (at > 0 && operation !== 'compare')) place = `${operation}, number ${at + 1}`;
    for (const step of answer.structuredContent?.next ?? []) if (step.operation) waiting.push([step.operation, step.arguments]);
  }
  return { calls, tokens: Math.ceil(tokens), place };
}

const store = fs.mkdtempSync(path.join(os.tmpdir(), 'neurolens-agent-'));
const client = await connect(program, store);
let missed = 0;
console.log(`${'trace'.padEnd(31)} ${'planted cause'.padEnd(24)} calls tokens  named by`);
for (const one of cases) {
  const { calls, tokens, place } = await follow(client, one);
  const good = place !== '' && tokens <= MAX_TOKENS;
  missed += good ? 0 : 1;
  console.log(`${one.name.padEnd(31)} ${one.cause.padEnd(24)} ${String(calls).padStart(5)} ${String(tokens).padStart(6)}  ${good ? place : 'MISSED'}`);
}
await client.close();
fs.rmSync(store, { recursive: true, force: true });
console.log(`${cases.length - missed} of ${cases.length} causes named in at most ${MAX_CALLS} calls and ${MAX_TOKENS} tokens`);
process.exitCode = missed === 0 ? 0 : 1;
