// SPDX-License-Identifier: Apache-2.0
#pragma once
// Table `lines`: the lines of a run's timeline (timeline/lines.h), a Parquet file of its own outside the run,
// so it is not among model/tables.

#include "model/table.h"

// clang-format off
#define NL_LINES_COLUMNS(X) \
  X(StringId, kind, kDict, "", "run, line or bucket") \
  X(int32_t, line, kDict, "", "Number of the line, from 0") \
  X(int32_t, level, kDict, "", "Of a line: its buckets are 4^level ns long") \
  X(int64_t, at_ns, kDelta, "ns", "From the zero of the timeline: of a line its first value, of a bucket its last value; of the run the clock at zero") \
  X(int64_t, count, kDelta, "", "Values of the line or bucket") \
  X(double, least, kDict, "", "Least value of the bucket") \
  X(double, greatest, kDict, "", "Greatest value") \
  X(double, last, kDict, "", "Last value") \
  X(StringId, owner, kDict, "", "Table that has the values of the line") \
  X(int64_t, thread_id, kDict, "", "Rows of the line: their thread (counter_sample)") \
  X(int64_t, process_id, kDict, "", "Process that the line is drawn in") \
  X(int64_t, device, kDict, "", "Rows of the line: their device (memory_event)") \
  X(StringId, name, kDict, "", "Rows of the line: name of their counter") \
  X(StringId, series, kDict, "", "Rows of the line: series within the counter")
// clang-format on

namespace nl {
NL_TABLE_DECLARE(LinesTable, "lines", NL_LINES_COLUMNS)
}  // namespace nl
