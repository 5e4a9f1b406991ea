// SPDX-License-Identifier: Apache-2.0
#pragma once
// The order of contributions once their significance is known.
// Thread rule: pure function.

#include "analyze/compare/compare.h"

namespace nl::compare {

// Significant ones first, each kind by |delta|; the timelines keep pointing at theirs.
void Rerank(Comparison& comparison);

}  // namespace nl::compare
