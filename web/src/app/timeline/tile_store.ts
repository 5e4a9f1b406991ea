// SPDX-License-Identifier: Apache-2.0
// The tiles of one run: fetched when a window needs them, neighbours before they are needed, the oldest forgotten.
import type { ProblemDocument } from "../../data/client";
import { queryString } from "../../data/client";
import type { Tile, TileRow } from "../../data/tile";
import { readTile, TILE_TYPE } from "../../data/tile";
import { hueOf } from "../../widgets/canvas";
import { client, problemFrom } from "../session";
import type { TileKey } from "./tile_grid";
import { keyText, neighboursOf, STACKS_TILE_PX, TILE_PX, tileEnd, tileStart } from "./tile_grid";

export interface DrawnTile {
  tile: Tile;
  rowsOf: Map<number, TileRow[]>; // by lane
  hues: Uint8Array; // of each name
}

const MOST_TILES = 64;

function drawnOf(tile: Tile): DrawnTile {
  const rowsOf = new Map<number, TileRow[]>();
  for (const row of tile.rows) {
    const list = rowsOf.get(row.lane);
    if (list) list.push(row);
    else rowsOf.set(row.lane, [row]);
  }
  return { tile, rowsOf, hues: Uint8Array.from(tile.names, hueOf) };
}

export class TileStore {
  problem: ProblemDocument | null = null;
  private readonly tiles = new Map<string, DrawnTile>();
  private readonly pending = new Map<string, AbortController>();
  private readonly run: string;
  private readonly first_ns: number;
  private readonly last_ns: number;
  private readonly onChange: () => void;
  private readonly lanes: number[]; // empty: all but stacks

  constructor(run: string, first_ns: number, last_ns: number, onChange: () => void, lanes: number[] = []) {
    this.run = run;
    this.first_ns = first_ns;
    this.last_ns = last_ns;
    this.onChange = onChange;
    this.lanes = lanes;
  }

  get(key: TileKey): DrawnTile | undefined {
    return this.tiles.get(keyText(key));
  }
  has = (key: string): boolean => this.tiles.has(key);
  get isLoading(): boolean {
    return this.pending.size > 0;
  }

  // Fetches what a window needs, and what is around it when all of that is there. Requests for other windows stop.
  want(keys: TileKey[]): void {
    const wanted = new Set([...keys, ...neighboursOf(keys)].map(keyText));
    for (const [key, stop] of this.pending) {
      if (wanted.has(key)) continue;
      stop.abort();
      this.pending.delete(key);
    }
    const missing = keys.filter((key) => this.isMissing(key));
    for (const key of missing) this.fetch(key);
    if (missing.length === 0 && this.pending.size === 0)
      for (const key of neighboursOf(keys)) if (this.isMissing(key)) this.fetch(key);
  }

  close(): void {
    for (const stop of this.pending.values()) stop.abort();
    this.pending.clear();
  }

  private isMissing(key: TileKey): boolean {
    const text = keyText(key);
    if (this.tiles.has(text) || this.pending.has(text)) return false;
    return tileEnd(key) > this.first_ns && tileStart(key) < this.last_ns;
  }

  private fetch(key: TileKey): void {
    const text = keyText(key);
    const stop = new AbortController();
    this.pending.set(text, stop);
    const fields = {
      from_ns: tileStart(key),
      to_ns: tileEnd(key),
      width: this.lanes.length > 0 ? STACKS_TILE_PX : TILE_PX,
      lanes: this.lanes,
    };
    client
      .fetch(`/api/v1/runs/${encodeURIComponent(this.run)}/timeline${queryString(fields)}`, {
        headers: { Accept: TILE_TYPE },
        signal: stop.signal,
      })
      .then((response) => response.arrayBuffer())
      .then((bytes) => {
        this.tiles.set(text, drawnOf(readTile(bytes)));
        const oldest = this.tiles.keys().next().value;
        if (this.tiles.size > MOST_TILES && oldest !== undefined) this.tiles.delete(oldest);
        this.problem = null;
      })
      .catch((error) => {
        if (!stop.signal.aborted) this.problem = problemFrom(error);
      })
      .finally(() => {
        if (this.pending.get(text) === stop) this.pending.delete(text);
        if (!stop.signal.aborted) this.onChange();
      });
  }
}
