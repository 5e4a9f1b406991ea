// SPDX-License-Identifier: Apache-2.0
#pragma once
// Table `kernel`: one kernel execution on a device.

#include "model/table.h"

// clang-format off
#define NL_KERNEL_COLUMNS(X) \
  X(ThreadId, thread_id, kDict, "", "Lane the source drew the event on (thread.id)") \
  X(int64_t, start_ns, kDelta, "ns", "Start on the run clock") \
  X(int64_t, dur_ns, kDelta, "ns", "Duration") \
  X(int32_t, device, kDict, "", "Device index (device.device)") \
  X(int64_t, context, kDict, "", "Driver context number") \
  X(int64_t, stream, kDict, "", "Stream number as the driver gives it") \
  X(StringId, name, kDict, "", "Kernel name as the source spells it") \
  X(int64_t, correlation, kDelta, "", "Id shared by a launch and the work it caused") \
  X(int64_t, external_id, kDelta, "", "Id of the framework op in the source (op.external_id)") \
  X(int64_t, queued_ns, kDict, "ns", "Time the driver reports it was queued; 0 is what Kineto writes when unknown") \
  X(int32_t, registers_per_thread, kDict, "", "Registers of one thread") \
  X(int64_t, shared_bytes, kDict, "bytes", "Shared memory of one block") \
  X(int32_t, grid_x, kDict, "", "Grid size, x") \
  X(int32_t, grid_y, kDict, "", "Grid size, y") \
  X(int32_t, grid_z, kDict, "", "Grid size, z") \
  X(int32_t, block_x, kDict, "", "Block size, x") \
  X(int32_t, block_y, kDict, "", "Block size, y") \
  X(int32_t, block_z, kDict, "", "Block size, z") \
  X(double, blocks_per_sm, kDict, "", "Blocks per multiprocessor, as the source computes it") \
  X(double, warps_per_sm, kDict, "", "Warps per multiprocessor, as the source computes it") \
  X(double, estimated_occupancy_pct, kDict, "percent", "Occupancy the source estimates from the launch; not measured") \
  X(int32_t, priority, kDict, "", "Stream priority") \
  X(int64_t, graph_id, kDict, "", "CUDA graph it belongs to") \
  X(int64_t, graph_node_id, kDelta, "", "Node of that graph") \
  X(RowId, api_call_id, kLate, "", "Launching API call (api_call.id), resolved by correlation") \
  X(RowId, op_id, kLate, "", "Framework op that caused it (op.id), resolved by external id")
// clang-format on

namespace nl {
NL_TABLE(Kernel, "kernel", thread_id, "One kernel execution on a device", NL_KERNEL_COLUMNS)
}  // namespace nl
