// SPDX-License-Identifier: Apache-2.0
#pragma once
// ToolFindings: the suggestions of the profiling tool itself (table tool_finding), grouped by
// kernel name.
// Thread rule: pure function.

#include <vector>

#include "analyze/facts/findings.h"

namespace nl::passes::findings {

inline constexpr Reads kToolFindingReads =
    NL_READS(Kernel, name, dur_ns) |
    NL_READS(ToolFinding, kernel_id, tool, rule, kind, message, speedup_scope, estimated_speedup_pct);
std::vector<ToolFinding> ToolFindings(const RunData& data);

}  // namespace nl::passes::findings
