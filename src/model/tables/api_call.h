// SPDX-License-Identifier: Apache-2.0
#pragma once
// Table `api_call`: one runtime or driver API call on a host thread.

#include "model/table.h"

// clang-format off
#define NL_API_CALL_COLUMNS(X) \
  X(ThreadId, thread_id, kDict, "", "Lane the source drew the event on (thread.id)") \
  X(int64_t, start_ns, kDelta, "ns", "Start on the run clock") \
  X(int64_t, dur_ns, kDelta, "ns", "Duration") \
  X(StringId, name, kDict, "", "Function name") \
  X(StringId, domain, kDict, "", "Source category: cuda_runtime, cuda_driver, ...") \
  X(int64_t, callback_id, kDict, "", "CUPTI callback id (cbid) or HIP id (cid)") \
  X(int64_t, correlation, kDelta, "", "Id shared by a launch and the work it caused") \
  X(int64_t, external_id, kDelta, "", "Id of the framework op in the source (op.external_id)") \
  X(RowId, op_id, kLate, "", "Framework op that caused it (op.id), resolved by external id")
// clang-format on

namespace nl {
NL_TABLE(ApiCall, "api_call", thread_id, "One runtime or driver API call on a host thread",
         NL_API_CALL_COLUMNS)
}  // namespace nl
