// SPDX-License-Identifier: Apache-2.0
#pragma once
// The words of a comparison: one sentence for each contribution, and the verdict.
// Thread rule: pure functions.

#include "analyze/compare/comparable.h"

namespace nl::compare {

std::string ExplainContribution(const Contribution& c, const Trail& a, const Trail& b,
                                const Comparable& comparable, double drift);
// Of one pair of runs: what is structural or consistent counts, the host's drift does not.
CompareVerdict JudgePair(const Comparison& comparison, const Comparable& comparable);

}  // namespace nl::compare
