// SPDX-License-Identifier: Apache-2.0
#pragma once
// Table `memory_event`: one allocation or release seen by the framework allocator.

#include "model/table.h"

// clang-format off
#define NL_MEMORY_EVENT_COLUMNS(X) \
  X(ThreadId, thread_id, kDict, "", "Lane the source drew the event on (thread.id)") \
  X(int64_t, start_ns, kDelta, "ns", "Start on the run clock") \
  X(StringId, name, kDict, "", "Event name") \
  X(int64_t, address, kDict, "", "Address") \
  X(int64_t, bytes, kDict, "bytes", "Bytes allocated; negative when released") \
  X(int64_t, total_allocated_bytes, kDelta, "bytes", "Allocated after the event") \
  X(int64_t, total_reserved_bytes, kDict, "bytes", "Reserved after the event") \
  X(int32_t, device_type, kDict, "", "PyTorch device type: 0 CPU, 1 CUDA, ...") \
  X(int32_t, device, kDict, "", "Device index; -1 for the host") \
  X(StringId, scope, kDict, "", "Scope of an instant: g global, p process, t thread") \
  X(int64_t, event_index, kDelta, "", "Index of the event in the source profiler (Ev Idx)")
// clang-format on

namespace nl {
NL_TABLE(MemoryEvent, "memory_event", thread_id, "One allocation or release seen by the framework allocator",
         NL_MEMORY_EVENT_COLUMNS)
}  // namespace nl
