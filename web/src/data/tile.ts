// SPDX-License-Identifier: Apache-2.0
// A tile of a timeline: long spans exactly, short ones as densities of buckets. Read from its binary form.
// Times are ns from the zero of the timeline.

export const TILE_TYPE = "application/vnd.neurolens.tile";
export const TILE_TABLES = [
  "kernel",
  "memcpy",
  "memset",
  "sync",
  "api_call",
  "op",
  "python_call",
  "range",
  "cpu_sample",
] as const;

export interface TileRow {
  lane: number;
  depth: number;
  start: Float64Array;
  dur: Float64Array;
  name: Uint32Array;
  id: Float64Array;
  bucket: Float64Array; // index; it begins at index * bucket_ns
  count: Float64Array;
  busy: Uint8Array; // part of the bucket in which something ran, of BUSY_STEPS
  top: Uint32Array; // name with the most time
  longest: Uint8Array; // log scale: longestNs()
}

export interface TileSeries {
  lane: number;
  at: Float64Array;
  min: Float32Array;
  max: Float32Array;
  last: Float32Array;
}

export interface Tile {
  from_ns: number;
  to_ns: number;
  bucket_ns: number;
  exact_from_ns: number;
  names: string[];
  tables: string[]; // of each name
  rows: TileRow[];
  series: TileSeries[];
}

export const BUSY_STEPS = 63;
const MAGIC = "NLT2";
const HEADER_BYTES = 64;

// Reads numbers one after the other. A tile that ends early is an error, never a wrong picture.
class Reader {
  private at = HEADER_BYTES;
  private readonly bytes: Uint8Array;
  private readonly view: DataView;
  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }
  byte(): number {
    if (this.at >= this.bytes.length) throw new RangeError("the tile ends early");
    return this.bytes[this.at++];
  }
  // Unsigned LEB128; exact up to 2^53.
  varint(): number {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = this.byte();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 128;
    }
  }
  zigzag(): number {
    const value = this.varint();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }
  float(): number {
    if (this.at + 4 > this.bytes.length) throw new RangeError("the tile ends early");
    const value = this.view.getFloat32(this.at, true);
    this.at += 4;
    return value;
  }
  text(bytes: number): string {
    if (this.at + bytes > this.bytes.length) throw new RangeError("the tile ends early");
    const part = this.bytes.subarray(this.at, this.at + bytes);
    this.at += bytes;
    return new TextDecoder().decode(part);
  }
  list(count: number, read: () => number): Float64Array {
    const out = new Float64Array(count);
    for (let i = 0; i < count; ++i) out[i] = read();
    return out;
  }
}

// Splits a column of all rows into those of each.
function split<Column extends { subarray(from: number, to: number): Column }>(
  all: Column,
  counts: Float64Array,
): Column[] {
  let at = 0;
  return Array.from(counts, (count) => {
    const from = at;
    at += count;
    return all.subarray(from, at);
  });
}

// Differences within each row back into values.
function summed(parts: Float64Array[], first: number, step: number): void {
  for (const part of parts) for (let i = 0; i < part.length; ++i) part[i] += i === 0 ? first : part[i - 1] + step;
}

// Distances from the end of the span before back into starts.
function placeSpans(starts: Float64Array[], durs: Float64Array[], from_ns: number): void {
  starts.forEach((start, row) => {
    let before = from_ns;
    for (let i = 0; i < start.length; ++i) {
      start[i] += before;
      before = start[i] + durs[row][i];
    }
  });
}

export function longestNs(code: number): number {
  return code === 0 ? 0 : Math.floor(2 ** ((code - 1) / 4));
}

function readSeries(reader: Reader, count: number, points: number, from_ns: number): TileSeries[] {
  const lanes = reader.list(count, () => reader.varint());
  const sizes = reader.list(count, () => reader.varint());
  const counts = sizes.map((size) => Math.floor(size / 2));
  const at = split(
    reader.list(points, () => reader.zigzag()),
    counts,
  );
  summed(at, from_ns, 0);
  const last = split(Float32Array.from(reader.list(points, () => reader.float())), counts);
  // A line of single values has them once.
  const ranges = () =>
    last.map((single, i) =>
      sizes[i] % 2 === 1 ? single : Float32Array.from(reader.list(counts[i], () => reader.float())),
    );
  const [min, max] = [ranges(), ranges()];
  return at.map((times, i) => ({ lane: lanes[i], at: times, min: min[i], max: max[i], last: last[i] }));
}

export function readTile(buffer: ArrayBuffer): Tile {
  const bytes = new Uint8Array(buffer);
  const view = new DataView(buffer);
  if (bytes.length < HEADER_BYTES || String.fromCharCode(...bytes.subarray(0, 4)) !== MAGIC)
    throw new RangeError("this is not a tile of a timeline");
  const [rows, spans, buckets, names, series, points] = [4, 8, 12, 16, 20, 24].map((at) => view.getUint32(at, true));
  const [from_ns, to_ns, bucket_ns, exact_from_ns] = [32, 40, 48, 56].map((at) => Number(view.getBigInt64(at, true)));
  const reader = new Reader(bytes);
  const varint = () => reader.varint();
  const zigzag = () => reader.zigzag();
  const byte = () => reader.byte();
  const [lane, depth, spanCounts, bucketCounts] = [0, 0, 0, 0].map(() => reader.list(rows, varint));
  const start = split(reader.list(spans, zigzag), spanCounts);
  const dur = split(reader.list(spans, varint), spanCounts);
  placeSpans(start, dur, from_ns);
  const name = split(Uint32Array.from(reader.list(spans, varint)), spanCounts);
  const id = split(reader.list(spans, zigzag), spanCounts);
  summed(id, 0, 0);
  const bucket = split(reader.list(buckets, zigzag), bucketCounts);
  summed(bucket, Math.floor(from_ns / Math.max(1, bucket_ns)), 1);
  const count = split(reader.list(buckets, varint), bucketCounts);
  const busy = split(Uint8Array.from(reader.list(buckets, byte)), bucketCounts);
  const top = split(Uint32Array.from(reader.list(buckets, varint)), bucketCounts);
  const longest = split(Uint8Array.from(reader.list(buckets, byte)), bucketCounts);
  const lines = readSeries(reader, series, points, from_ns);
  const tables = Array.from(reader.list(names, byte), (code) => TILE_TABLES[code] ?? "");
  const lengths = reader.list(names, varint);
  return {
    from_ns,
    to_ns,
    bucket_ns,
    exact_from_ns,
    names: Array.from(lengths, (length) => reader.text(length)),
    tables,
    rows: Array.from({ length: rows }, (_, i) => ({
      lane: lane[i],
      depth: depth[i],
      start: start[i],
      dur: dur[i],
      name: name[i],
      id: id[i],
      bucket: bucket[i],
      count: count[i],
      busy: busy[i],
      top: top[i],
      longest: longest[i],
    })),
    series: lines,
  };
}
