// SPDX-License-Identifier: Apache-2.0
#pragma once
// Table `sync`: one synchronisation as the driver records it (stream, event, context).

#include "model/table.h"

// clang-format off
#define NL_SYNC_COLUMNS(X) \
  X(ThreadId, thread_id, kDict, "", "Lane the source drew the event on (thread.id)") \
  X(int64_t, start_ns, kDelta, "ns", "Start on the run clock") \
  X(int64_t, dur_ns, kDelta, "ns", "Duration") \
  X(int32_t, device, kDict, "", "Device index (device.device)") \
  X(int64_t, context, kDict, "", "Driver context number") \
  X(int64_t, stream, kDict, "", "Stream number as the driver gives it") \
  X(StringId, name, kDict, "", "Kind of synchronisation") \
  X(int64_t, correlation, kDelta, "", "Id shared by a launch and the work it caused") \
  X(int64_t, external_id, kDelta, "", "Id of the framework op in the source (op.external_id)") \
  X(int64_t, wait_on_stream, kDict, "", "Stream waited for") \
  X(int64_t, wait_on_event, kDict, "", "Event waited for") \
  X(int64_t, wait_on_correlation, kDelta, "", "Correlation of the event record waited for") \
  X(RowId, api_call_id, kLate, "", "Launching API call (api_call.id), resolved by correlation") \
  X(RowId, op_id, kLate, "", "Framework op that caused it (op.id), resolved by external id")
// clang-format on

namespace nl {
NL_TABLE(Sync, "sync", thread_id, "One synchronisation as the driver records it (stream, event, context)",
         NL_SYNC_COLUMNS)
}  // namespace nl
