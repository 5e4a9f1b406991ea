// SPDX-License-Identifier: Apache-2.0
// The same as onnxrt.py, for ONNX Runtime in Node.js (package onnxruntime-node). Started by `neurolens profile`.
'use strict';
const fs = require('fs');
const path = require('path');
const {createRequire} = require('module');

const request = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'));

function leave(facts, status) {
  fs.writeFileSync(path.join(request.out, 'facts.json'), JSON.stringify(facts));
  process.exit(status);
}

// From the folder the command was given in, then from where node looks by itself (NODE_PATH, global folders).
function load(name) {
  try {
    return createRequire(path.join(process.cwd(), 'x.js'))(name);
  } catch (near) {
    try {
      return require(name);
    } catch (far) {
      leave({missing: name, install: `npm install ${name}`, said: String(far.message).split('\n')[0]}, 3);
    }
  }
}

// Numbers that are the same in every run of this command.
let state = 1;
function random() {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return state / 4294967296;
}

const ARRAYS = {
  float32: Float32Array, float64: Float64Array, int8: Int8Array, uint8: Uint8Array, int16: Int16Array, uint16: Uint16Array,
  int32: Int32Array, uint32: Uint32Array, int64: BigInt64Array, uint64: BigUint64Array, bool: Uint8Array, float16: Uint16Array,
};

function values(name, type, shape) {
  const Kind = ARRAYS[type];
  const low = name.toLowerCase();
  const big = Kind === BigInt64Array || Kind === BigUint64Array;
  const data = new Kind(shape.reduce((a, b) => a * b, 1));
  const last = shape.length ? shape[shape.length - 1] : 1;
  const high = low.includes('type') || low.includes('segment') || type === 'bool' ? 2 : Math.min(request.max_int, {int8: 127, uint8: 255}[type] || Infinity);
  for (let i = 0; i < data.length; ++i) {
    let value;
    if (type === 'float32' || type === 'float64') value = random() * 2 - 1;
    else if (type === 'float16') value = 0x3000 + Math.floor(random() * 0x0c00);  // between 1/8 and 1
    else if (low.includes('mask')) value = 1;
    else if (low.includes('position')) value = i % last;
    else value = Math.floor(random() * high);
    data[i] = big ? BigInt(value) : value;
  }
  return data;
}

function withoutWarmup(from, to) {
  let events = JSON.parse(fs.readFileSync(from, 'utf8'));
  const runs = events.filter((e) => e.cat === 'Session' && e.name === 'model_run').sort((a, b) => a.ts - b.ts);
  let dropped = 0;
  let first = 0;
  const n = request.warmup;
  if (n > 0 && runs.length > n) {
    const end = Math.min(runs[n - 1].ts + runs[n - 1].dur, runs[n].ts);
    const kept = events.filter((e) => !(typeof e.ts === 'number' && runs[0].ts <= e.ts && e.ts < end));
    dropped = events.length - kept.length;
    first = n;
    events = kept;
  }
  fs.writeFileSync(to, JSON.stringify(events));
  return [first, dropped];
}

async function main() {
  const ort = load('onnxruntime-node');
  if (request.device === 'cuda') leave({missing: 'the CUDA provider', install: 'pip install onnxruntime-gpu', said: 'profiling on a GPU goes through Python'}, 3);
  const session = await ort.InferenceSession.create(request.model, {
    enableProfiling: true, profileFilePrefix: path.join(request.out, 'ort'), executionProviders: ['cpu'],
  });
  const feed = {};
  for (const {name, type, shape} of request.inputs) feed[name] = new ort.Tensor(type, values(name, type, shape), shape);
  const total = request.warmup + request.iterations;
  for (let i = 0; i < total; ++i) {
    fs.writeFileSync(path.join(request.out, 'progress'), `${i} ${total}`);
    await session.run(feed);
  }
  session.endProfiling();
  const written = fs.readdirSync(request.out).find((f) => f.startsWith('ort'));
  if (written === undefined) {
    console.error('onnxruntime-node wrote no profile');
    process.exit(1);
  }
  const [excluded, dropped] = withoutWarmup(path.join(request.out, written), path.join(request.out, 'profile.json'));
  const version = ort.env && ort.env.versions ? ort.env.versions.node || ort.env.versions.common : null;
  leave({
    framework: 'onnxruntime', version, runtime: `node ${process.version}`, device: 'CPUExecutionProvider',
    files: ['profile.json'], warmup_excluded: excluded, warmup_events: dropped,
  }, 0);
}

main().catch((error) => {
  console.error(String(error && error.message ? error.message : error));
  process.exit(1);
});
