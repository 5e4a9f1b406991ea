// SPDX-License-Identifier: Apache-2.0
#pragma once
// Hardware counters of both sides, kernel by kernel: what was captured of either run, means
// weighted by duration. Empty when neither run has counters.
// Thread rule: pure function.

#include "analyze/analysis.h"

namespace nl::compare {

// [{kernel, a: {achieved_occupancy, ..., source, kernels} | null, b: ...}], longest kernels first.
Json CompareCounters(const Analysis& a, const Analysis& b);

}  // namespace nl::compare
