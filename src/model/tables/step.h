// SPDX-License-Identifier: Apache-2.0
#pragma once
// Table `step`: one iteration the source marks (ProfilerStep, LLM@decode_step, "step 3").

#include "model/table.h"

// clang-format off
#define NL_STEP_COLUMNS(X) \
  X(RowId, range_id, kDelta, "", "The labelled span (range.id)") \
  X(int64_t, number, kDelta, "", "Number the label carries, else its order") \
  X(StringId, name, kDict, "", "Label") \
  X(int64_t, start_ns, kDelta, "ns", "Start on the run clock") \
  X(int64_t, dur_ns, kDelta, "ns", "Duration")
// clang-format on

namespace nl {
NL_TABLE(Step, "step", range_id, "One iteration the source marks (ProfilerStep, LLM@decode_step)",
         NL_STEP_COLUMNS)
}  // namespace nl
