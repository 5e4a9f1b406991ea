// SPDX-License-Identifier: Apache-2.0
#pragma once
// The verdict about one pair of runs.
// Thread rule: pure functions.

#include "analyze/compare/compare.h"

namespace nl::compare {

// Counts structural and consistent changes; ignores the drift of the host and hidden device time.
// `comparable` is false when the device or the model differs.
CompareVerdict JudgePair(const Comparison& comparison, bool comparable);

}  // namespace nl::compare
