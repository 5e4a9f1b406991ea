// SPDX-License-Identifier: Apache-2.0
#pragma once
// Overview: the level of detail of a run's timeline, made once. For every lane and depth it has the buckets
// of each level from base_level up, and every span that is at least half a bucket of the base level long.
// What is shorter is read from the run itself when someone looks that closely: `groups` says where. The base
// level is chosen so that the overview is a small part of the run (kMostShare). Thread rule: constant once
// made.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "timeline/bucket_row.h"
#include "timeline/run_spans.h"

namespace nl {

struct OverviewLane {
  LaneSlot slot = 0;
  int64_t count = 0, first_ns = 0, last_ns = 0;  // from the first start to the last end
  uint32_t depths = 0;
};
struct OverviewRow {
  LaneSlot slot = 0;
  uint32_t depth = 0;
  BucketRow buckets;
};
// The time in which the spans of a row group lie that are shorter than half a bucket of the base level.
struct OverviewGroup {
  int64_t from_ns = INT64_MAX, to_ns = INT64_MIN;  // the last end; from > to: there are none
};

// The same by the first level of the spans: which of them are short is known at the end only.
using GroupTimes = std::array<OverviewGroup, kMostLevels + 1>;

struct Overview {
  static constexpr int kVersion = 2;  // of the stored form and of what it means
  static constexpr double kMostShare = 0.03;

  unsigned base_level = 0, top_level = 0;
  int64_t events = 0, first_ns = 0, last_ns = 0;
  std::vector<OverviewLane> lanes;    // by slot
  std::vector<OverviewRow> rows;      // by slot, then depth; names are those of RunSpans
  std::vector<OverviewGroup> groups;  // as RunSpans::groups
  std::vector<GroupTimes> times;      // of the groups, while it is being made

  size_t Bytes() const;  // in memory
};

struct OverviewOptions {
  unsigned threads = 2;
  int64_t most_bytes = 0;  // of the stored form; 0: MostOverviewBytes
  const std::atomic<bool>* cancelled = nullptr;
  std::function<void(int64_t done_rows, int64_t total_rows)> progress;  // may be empty
};
Result<std::unique_ptr<Overview>> BuildOverview(const RunSpans& spans, const OverviewOptions& options);

// The largest stored form for this run.
int64_t MostOverviewBytes(int64_t stored_bytes);

// Writes the Parquet file and gives its checksum (ledger/run_files.h).
Result<uint64_t> WriteOverview(const Overview& overview, const RunSpans& spans, const std::string& path);
// InvalidInput when the file does not fit the run.
Result<std::unique_ptr<Overview>> ReadOverview(const std::string& path, const RunSpans& spans);
// Drops the lowest level everywhere.
void RaiseBase(Overview& overview, const RunSpans& spans);

}  // namespace nl
