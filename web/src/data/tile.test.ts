// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { longestNs, readTile } from "./tile";

const varint = (value: number): number[] => {
  const out: number[] = [];
  let rest = value;
  while (rest >= 128) {
    out.push((rest % 128) | 0x80);
    rest = Math.floor(rest / 128);
  }
  return [...out, rest];
};
const zigzag = (value: number) => varint(value < 0 ? -value * 2 - 1 : value * 2);
const floats = (...values: number[]) => [...new Uint8Array(Float32Array.from(values).buffer)];

// Two rows, three spans, two buckets, two names, a line of two ranges and one of a value, from 1,000 ns on.
function tileBytes(): Uint8Array {
  const head = new DataView(new ArrayBuffer(64));
  "NLT2".split("").forEach((c, i) => {
    head.setUint8(i, c.charCodeAt(0));
  });
  [2, 3, 2, 2, 2, 3].forEach((n, i) => {
    head.setUint32(4 + 4 * i, n, true);
  });
  [1000, 9000, 64, 32].forEach((n, i) => {
    head.setBigInt64(32 + 8 * i, BigInt(n), true);
  });
  const name = new TextEncoder().encode("größe");
  const body = [
    ...[3, 5, 0, 1, 2, 1, 0, 2].flatMap(varint), // lane, depth, spans, buckets
    ...[-200, 400, 5_000_000_000].flatMap(zigzag), // starts: 800, 400 after its end at 1100; 5,000,001,000
    ...[300, 400, 2 ** 40].flatMap(varint),
    ...[1, 0, 1].flatMap(varint),
    ...[7, -2, 9].flatMap(zigzag),
    ...[1, 4].flatMap(zigzag), // buckets: 15 + 1, then + 4 + 1
    ...[12, 900].flatMap(varint),
    ...[63, 3],
    ...[0, 1].flatMap(varint),
    ...[0, 25],
    ...[9, 11, 4, 3].flatMap(varint), // lanes; twice the points, odd: one value each
    ...[5, 10, 30].flatMap(zigzag),
    ...floats(1.5, 2.5, 8),
    ...floats(1, 2),
    ...floats(3, 4),
    ...[0, 5],
    ...varint(4),
    ...varint(name.length),
    ...new TextEncoder().encode("gemm"),
    ...name,
  ];
  return Uint8Array.from([...new Uint8Array(head.buffer), ...body]);
}

test("a tile is read column by column", () => {
  const tile = readTile(tileBytes().buffer as ArrayBuffer);
  expect(tile).toMatchObject({ from_ns: 1000, to_ns: 9000, bucket_ns: 64, names: ["gemm", "größe"] });
  expect(tile.tables).toEqual(["kernel", "op"]);
  const [first, second] = tile.rows;
  expect([first.lane, first.depth, second.lane, second.depth]).toEqual([3, 0, 5, 1]);
  expect([...first.start]).toEqual([800, 1500]);
  expect([...first.id]).toEqual([7, 5]);
  expect([...second.start]).toEqual([5_000_001_000]);
  expect([...second.dur]).toEqual([2 ** 40]);
  expect([...second.bucket]).toEqual([16, 21]);
  expect([...second.count]).toEqual([12, 900]);
  expect([...tile.series[0].at]).toEqual([1005, 1015]);
  expect([...tile.series[0].max]).toEqual([3, 4]);
  expect([...tile.series[0].last]).toEqual([1.5, 2.5]);
  expect([...tile.series[1].at]).toEqual([1030]);
  expect([...tile.series[1].min, ...tile.series[1].max, ...tile.series[1].last]).toEqual([8, 8, 8]);
  expect(longestNs(25)).toBe(64);
});

test("a tile that is cut anywhere is an error", () => {
  const bytes = tileBytes();
  for (let length = 0; length < bytes.length; ++length)
    expect(() => readTile(bytes.slice(0, length).buffer as ArrayBuffer)).toThrow(RangeError);
});
