// SPDX-License-Identifier: Apache-2.0
#pragma once
// A tile: what one window of a timeline shows at one width. docs/formats/tile.md defines it and its binary
// form. Thread rule: pure functions over a constant Timeline.

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "base/record.h"
#include "base/result.h"
#include "timeline/timeline.h"

namespace nl {

// Columns of equal length: those of the spans, and those of the buckets.
struct TileRow {
  int64_t lane = 0, depth = 0;
  std::vector<int64_t> start_ns, dur_ns, name, id;
  std::vector<int64_t> bucket, count, busy_ns, longest_ns, top;
};
void Describe(Record<TileRow>& r);

struct TileSeries {
  int64_t lane = 0;
  std::vector<int64_t> at_ns;
  std::vector<double> min, max, last;
};
void Describe(Record<TileSeries>& r);

struct Tile {
  std::string run_id;
  int64_t from_ns = 0, to_ns = 0, width = 0, bucket_ns = 1, exact_from_ns = 1;
  std::vector<std::string> names, name_tables;
  std::vector<TileRow> rows;
  std::vector<TileSeries> series;
};
void Describe(Record<Tile>& r);

struct TileRequest {
  int64_t from_ns = 0, to_ns = 0;  // from < to
  int64_t width = 1600;            // px
  std::vector<int64_t> lanes;      // numbers, sorted
};

// The level whose buckets are nearest to a pixel: px / 2 <= 4^level < 2 px.
unsigned TileLevel(int64_t window_ns, int64_t width);

Result<Tile> MakeTile(const Timeline& timeline, const TileRequest& request,
                      const std::atomic<bool>* cancelled);

inline constexpr char kTileMediaType[] = "application/vnd.neurolens.tile";
std::string TileBytes(const Tile& tile);

}  // namespace nl
