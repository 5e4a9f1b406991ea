// SPDX-License-Identifier: Apache-2.0
#pragma once
// Table `memcpy`: one copy between memories.

#include "model/table.h"

// clang-format off
#define NL_MEMCPY_COLUMNS(X) \
  X(ThreadId, thread_id, kDict, "", "Lane the source drew the event on (thread.id)") \
  X(int64_t, start_ns, kDelta, "ns", "Start on the run clock") \
  X(int64_t, dur_ns, kDelta, "ns", "Duration") \
  X(int32_t, device, kDict, "", "Device index (device.device)") \
  X(int64_t, context, kDict, "", "Driver context number") \
  X(int64_t, stream, kDict, "", "Stream number as the driver gives it") \
  X(StringId, name, kDict, "", "Copy name as the source spells it") \
  X(StringId, kind, kDict, "", "Direction: HtoD, DtoH, DtoD, HtoH, PtoP") \
  X(StringId, src_memory, kDict, "", "Source memory: Pageable, Pinned, Device, ...") \
  X(StringId, dst_memory, kDict, "", "Destination memory") \
  X(int64_t, correlation, kDelta, "", "Id shared by a launch and the work it caused") \
  X(int64_t, external_id, kDelta, "", "Id of the framework op in the source (op.external_id)") \
  X(int64_t, bytes, kDict, "bytes", "Bytes moved") \
  X(double, bandwidth_gbps, kDict, "GB/s", "Bandwidth the source reports (1e9 bytes per second)") \
  X(int64_t, graph_id, kDict, "", "CUDA graph it belongs to") \
  X(int64_t, graph_node_id, kDelta, "", "Node of that graph") \
  X(RowId, api_call_id, kLate, "", "Launching API call (api_call.id), resolved by correlation") \
  X(RowId, op_id, kLate, "", "Framework op that caused it (op.id), resolved by external id")
// clang-format on

namespace nl {
NL_TABLE(Memcpy, "memcpy", thread_id, "One copy between memories", NL_MEMCPY_COLUMNS)
}  // namespace nl
