// SPDX-License-Identifier: Apache-2.0
// Which tiles a window needs. Tiles are powers of two of time long and begin at multiples of their length, so that
// windows at the same zoom share them and a longer tile stands in for a shorter one that is not there yet.

export interface TileKey {
  level: number; // 2^level ns long
  index: number;
}

export const TILE_PX = 2048; // requested width
export const STACKS_TILE_PX = 1024; // of stacks, which have a hundred rows: about a pixel of the screen each
const MOST_LEVEL = 52;

// The shortest tile that is at least as long as the window: it covers one or two of them.
export function levelFor(span_ns: number): number {
  return Math.max(0, Math.min(MOST_LEVEL, Math.ceil(Math.log2(Math.max(1, span_ns)))));
}

export function tilesFor(from_ns: number, to_ns: number): TileKey[] {
  const level = levelFor(to_ns - from_ns);
  const length = 2 ** level;
  const first = Math.floor(from_ns / length);
  const last = Math.max(first, Math.ceil(to_ns / length) - 1);
  return Array.from({ length: last - first + 1 }, (_, i) => ({ level, index: first + i }));
}

// The tiles to both sides, and the one that shows twice as much.
export function neighboursOf(keys: TileKey[]): TileKey[] {
  const [first, last] = [keys[0], keys[keys.length - 1]];
  return [
    { level: first.level, index: first.index - 1 },
    { level: last.level, index: last.index + 1 },
    { level: first.level + 1, index: Math.floor(first.index / 2) },
  ];
}

export const keyText = ({ level, index }: TileKey): string => `${level}:${index}`;
export const tileStart = ({ level, index }: TileKey): number => index * 2 ** level;
export const tileEnd = ({ level, index }: TileKey): number => (index + 1) * 2 ** level;

// The nearest tile that is there and covers this one; null: none.
export function standIn(key: TileKey, has: (key: string) => boolean): TileKey | null {
  for (let level = key.level; level <= MOST_LEVEL; ++level) {
    const candidate = { level, index: Math.floor(key.index / 2 ** (level - key.level)) };
    if (has(keyText(candidate))) return candidate;
  }
  return null;
}
