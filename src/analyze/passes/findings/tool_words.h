// SPDX-License-Identifier: Apache-2.0
#pragma once
// ToolWords: what the profiling tool itself suggests (table tool_finding), kernels of one
// name together.
// Thread rule: pure function.

#include <vector>

#include "analyze/facts/findings.h"

namespace nl::passes::findings {

std::vector<ToolWord> ToolWords(const RunData& data);

}  // namespace nl::passes::findings
