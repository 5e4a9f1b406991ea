// SPDX-License-Identifier: Apache-2.0
#pragma once
// The order of contributions.
// Thread rule: pure functions.

#include "analyze/compare/compare.h"

namespace nl::compare {

// Significant contributions first, each group by |delta|. Returns the new position of each old one.
std::vector<uint32_t> Rank(std::vector<Contribution>& contributions);

// The same once significance has changed; the timelines keep pointing at their contributions.
void Rerank(Comparison& comparison);

}  // namespace nl::compare
