// SPDX-License-Identifier: Apache-2.0
#pragma once
// Table `python_call`: one Python function or nn.Module call.

#include "model/table.h"

// clang-format off
#define NL_PYTHON_CALL_COLUMNS(X) \
  X(ThreadId, thread_id, kDict, "", "Lane the source drew the event on (thread.id)") \
  X(int64_t, start_ns, kDelta, "ns", "Start on the run clock") \
  X(int64_t, dur_ns, kDelta, "ns", "Duration") \
  X(StringId, name, kDict, "", "Function, as file(line): name, or nn.Module: Name") \
  X(int64_t, python_id, kDelta, "", "Id of the call in the source") \
  X(int64_t, python_parent_id, kDelta, "", "Id of the calling frame") \
  X(int64_t, python_module_id, kDict, "", "Id of the nn.Module instance") \
  X(int64_t, event_index, kDelta, "", "Index of the event in the source profiler (Ev Idx)")
// clang-format on

namespace nl {
NL_TABLE(PythonCall, "python_call", thread_id, "One Python function or nn.Module call",
         NL_PYTHON_CALL_COLUMNS)
}  // namespace nl
