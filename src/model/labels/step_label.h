// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which labels of a profile mark one iteration (ProfilerStep#3, LLM@decode_step), for every
// adapter that meets labelled ranges. Rows of table step are made from them.
// Thread rule: pure functions.

#include <cstdint>
#include <string_view>

namespace nl {

bool IsStepLabel(std::string_view name);
// The number the label carries after '#', else `otherwise`.
int64_t StepNumber(std::string_view name, int64_t otherwise);

}  // namespace nl
