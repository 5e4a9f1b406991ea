// SPDX-License-Identifier: Apache-2.0
#pragma once
// Table `counter_sample`: one value of a counter at one instant.

#include "model/table.h"

// clang-format off
#define NL_COUNTER_SAMPLE_COLUMNS(X) \
  X(ThreadId, thread_id, kDict, "", "Lane the source drew the event on (thread.id)") \
  X(int64_t, start_ns, kDelta, "ns", "Start on the run clock") \
  X(StringId, name, kDict, "", "Counter name") \
  X(StringId, series, kDict, "", "Series within the counter") \
  X(double, value, kDict, "", "Value")
// clang-format on

namespace nl {
NL_TABLE(CounterSample, "counter_sample", thread_id, "One value of a counter at one instant",
         NL_COUNTER_SAMPLE_COLUMNS)
}  // namespace nl
