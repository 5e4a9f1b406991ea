// SPDX-License-Identifier: Apache-2.0
#pragma once
// Table `range`: A labelled span: NVTX, user annotation, or any event of a category without a table of its
// own; instants have no duration.

#include "model/table.h"

// clang-format off
#define NL_RANGE_COLUMNS(X) \
  X(ThreadId, thread_id, kDict, "", "Lane the source drew the event on (thread.id)") \
  X(int64_t, start_ns, kDelta, "ns", "Start on the run clock") \
  X(int64_t, dur_ns, kDelta, "ns", "Duration") \
  X(StringId, name, kDict, "", "Label") \
  X(StringId, category, kDict, "", "Source category") \
  X(StringId, kind, kDict, "", "span, async, instant, or unfinished (a begin without its end)") \
  X(int64_t, external_id, kDelta, "", "Id that launches refer to") \
  X(int64_t, record_function_id, kDelta, "", "PyTorch record function id") \
  X(StringId, scope, kDict, "", "Scope of an instant: g global, p process, t thread") \
  X(int64_t, event_index, kDelta, "", "Index of the event in the source profiler (Ev Idx)")
// clang-format on

namespace nl {
NL_TABLE(Range, "range", thread_id,
         "A labelled span: NVTX, user annotation, or any event of a category without a table of its own; "
         "instants have no duration",
         NL_RANGE_COLUMNS)
}  // namespace nl
