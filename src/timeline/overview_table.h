// SPDX-License-Identifier: Apache-2.0
#pragma once
// Table `overview`: the level of detail of a run's timeline (timeline/overview.h), a Parquet file of its own
// outside the run, so it is not among model/tables.

#include "model/table.h"

// clang-format off
#define NL_OVERVIEW_COLUMNS(X) \
  X(StringId, kind, kDict, "", "run, lane, group (a row group of a table), span or bucket") \
  X(int32_t, lane, kDict, "", "3 * (thread.id + 1) + 0 spans, 1 asynchronous ranges, 2 CPU samples; 0 to 2 without a thread") \
  X(int32_t, depth, kDict, "", "Depth of a span or bucket; of a lane, the number of depths") \
  X(int32_t, level, kDict, "", "Buckets are 4^level ns long; of a span the highest level that lists it; of the run the lowest level") \
  X(int64_t, at, kDelta, "", "Start in ns from the zero of the timeline; of a bucket its number, counted from there") \
  X(int64_t, dur_ns, kDelta, "ns", "Duration; of a bucket the time covered in it") \
  X(int64_t, count, kDelta, "", "Spans: in the run, in the lane, or that start in the bucket; of buckets above the lowest level it follows from those below") \
  X(int64_t, longest_ns, kDelta, "ns", "Longest span that starts in the bucket, of the lowest level") \
  X(StringId, name, kDict, "", "Name; of a bucket the name with the most time in it") \
  X(StringId, owner, kDict, "", "Table of a span or group") \
  X(int64_t, owner_id, kDelta, "", "Row of a span in its table; of a group its number in the file; of the run the clock at zero")
// clang-format on

namespace nl {
NL_TABLE_DECLARE(OverviewTable, "overview", NL_OVERVIEW_COLUMNS)
}  // namespace nl
