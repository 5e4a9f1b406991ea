// SPDX-License-Identifier: Apache-2.0
#pragma once
// Table `flow`: one end of an arrow between events.

#include "model/table.h"

// clang-format off
#define NL_FLOW_COLUMNS(X) \
  X(ThreadId, thread_id, kDict, "", "Lane the source drew the event on (thread.id)") \
  X(int64_t, start_ns, kDelta, "ns", "Start on the run clock") \
  X(StringId, phase, kDict, "", "s start, t step, f finish") \
  X(StringId, name, kDict, "", "Name") \
  X(StringId, category, kDict, "", "Source category") \
  X(int64_t, flow_id, kDelta, "", "Arrow id; null when the source gave text (kept in args)") \
  X(StringId, binding, kDict, "", "bp value: e binds to the enclosing event")
// clang-format on

namespace nl {
NL_TABLE(Flow, "flow", thread_id, "One end of an arrow between events", NL_FLOW_COLUMNS)
}  // namespace nl
