// SPDX-License-Identifier: Apache-2.0
#pragma once
// ToolFindings: the suggestions of the profiling tool itself (table tool_finding), grouped by
// kernel name.
// Thread rule: pure function.

#include <vector>

#include "analyze/facts/findings.h"

namespace nl::passes::findings {

std::vector<ToolFinding> ToolFindings(const RunData& data);

}  // namespace nl::passes::findings
