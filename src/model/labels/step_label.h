// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which labels of a profile mark one iteration, for every adapter that meets labelled ranges:
// ProfilerStep#3, LLM@decode_step, and what programs call their own steps: "step", "step 3", "Iteration[3]",
// "train_step_3"; and forwards of vLLM ("execute_8_context_.."). Rows of table step are made from them.
// Thread rule: pure functions.

#include <cstdint>
#include <string_view>

namespace nl {

// The label without its number, such as "step" of "step 3"; empty for a label that marks no iteration.
std::string_view StepLabelOf(std::string_view name);
inline bool IsStepLabel(std::string_view name) { return !StepLabelOf(name).empty(); }
// The number the label carries at its end, else `otherwise`.
int64_t StepNumber(std::string_view name, int64_t otherwise);

}  // namespace nl
