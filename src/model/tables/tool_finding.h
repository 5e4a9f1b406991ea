// SPDX-License-Identifier: Apache-2.0
#pragma once
// Table `tool_finding`: what the profiling tool itself says of a kernel. Its word, not ours.

#include "model/table.h"

// clang-format off
#define NL_TOOL_FINDING_COLUMNS(X) \
  X(RowId, kernel_id, kDelta, "", "Kernel it is about (kernel.id)") \
  X(StringId, tool, kDict, "", "Tool that reported it") \
  X(StringId, section, kDict, "", "Group the tool lists it in") \
  X(StringId, rule, kDict, "", "Rule of the tool") \
  X(StringId, kind, kDict, "", "suggestion, note, warning, error; else as the tool writes it") \
  X(StringId, message, kDict, "", "Text of the tool") \
  X(StringId, speedup_scope, kDict, "", "What the estimate refers to: global, the kernel; local, a part") \
  X(double, estimated_speedup_pct, kDict, "percent", "Time the tool estimates could be saved")
// clang-format on

namespace nl {
NL_TABLE(ToolFinding, "tool_finding", kernel_id, "A hint that the profiling tool itself gave for a kernel",
         NL_TOOL_FINDING_COLUMNS)
}  // namespace nl
