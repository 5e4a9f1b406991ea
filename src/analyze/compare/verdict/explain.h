// SPDX-License-Identifier: Apache-2.0
#pragma once
// The words of a comparison: one sentence for each contribution, and the verdict.
// Thread rule: pure functions.

#include "analyze/compare/verdict/comparable.h"

namespace nl::compare {

// `hidden_ms`: of its difference, device time that the wall does not show.
std::string ExplainContribution(const Contribution& c, double hidden_ms, const CallSequence& a,
                                const CallSequence& b, const Comparable& comparable, double drift);
// Of one pair of runs: what is structural or consistent counts, the host's drift and what is hidden (by
// contribution) do not.
CompareVerdict JudgePair(const Comparison& comparison, const std::vector<double>& hidden_ms,
                         const Comparable& comparable);

}  // namespace nl::compare
