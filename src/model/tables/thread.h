// SPDX-License-Identifier: Apache-2.0
#pragma once
// Table `thread`: one lane of events: a host thread, or a device stream as the source draws it.

#include "model/table.h"

// clang-format off
#define NL_THREAD_COLUMNS(X) \
  X(ProcessId, process_id, kDict, "", "Owner (process.id)") \
  X(int64_t, tid, kDict, "", "Thread id or stream number; null when the source gave text") \
  X(StringId, tid_text, kDict, "", "Thread id as text, when it was not a number") \
  X(StringId, name, kDict, "", "Thread name") \
  X(int64_t, sort_index, kDict, "", "Order the source asks for in a timeline")
// clang-format on

namespace nl {
NL_TABLE(Thread, "thread", process_id,
         "One lane of events: a host thread, or a device stream as the source draws it", NL_THREAD_COLUMNS)
}  // namespace nl
