// SPDX-License-Identifier: Apache-2.0
#pragma once
// Table `op`: one framework operator call on a host thread.

#include "model/table.h"

// clang-format off
#define NL_OP_COLUMNS(X) \
  X(ThreadId, thread_id, kDict, "", "Lane the source drew the event on (thread.id)") \
  X(int64_t, start_ns, kDelta, "ns", "Start on the run clock") \
  X(int64_t, dur_ns, kDelta, "ns", "Duration") \
  X(StringId, name, kDict, "", "Operator name") \
  X(int64_t, external_id, kDelta, "", "Id that launches and kernels refer to") \
  X(int64_t, record_function_id, kDelta, "", "PyTorch record function id") \
  X(int64_t, event_index, kDelta, "", "Index of the event in the source profiler (Ev Idx)") \
  X(int64_t, sequence_number, kDelta, "", "Autograd sequence number: forward and backward share it") \
  X(int64_t, forward_thread, kDict, "", "Thread of the forward op, in a backward op") \
  X(StringId, input_dims, kDict, "", "Input shapes, JSON text") \
  X(StringId, input_types, kDict, "", "Input types, JSON text") \
  X(StringId, input_strides, kDict, "", "Input strides, JSON text") \
  X(StringId, concrete_inputs, kDict, "", "Scalar inputs, JSON text")
// clang-format on

namespace nl {
NL_TABLE(Op, "op", thread_id, "One framework operator call on a host thread", NL_OP_COLUMNS)
}  // namespace nl
