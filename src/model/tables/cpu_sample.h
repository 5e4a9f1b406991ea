// SPDX-License-Identifier: Apache-2.0
#pragma once
// Table `cpu_sample`: one sampled host stack.

#include "model/table.h"

// clang-format off
#define NL_CPU_SAMPLE_COLUMNS(X) \
  X(ThreadId, thread_id, kDict, "", "Lane the source drew the event on (thread.id)") \
  X(int64_t, start_ns, kDelta, "ns", "Start on the run clock; null in sums that have no timeline") \
  X(StringId, stack, kDict, "", "Frames, outermost first, separated by ;") \
  X(int64_t, weight_ns, kDict, "ns", "Time the sample stands for") \
  X(int64_t, weight, kDict, "", "What it stands for where that is not a time, in unit") \
  X(StringId, unit, kDict, "", "Unit of weight: samples or bytes")
// clang-format on

namespace nl {
NL_TABLE(CpuSample, "cpu_sample", thread_id, "One sampled host stack", NL_CPU_SAMPLE_COLUMNS)
}  // namespace nl
