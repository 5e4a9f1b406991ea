// SPDX-License-Identifier: Apache-2.0
#pragma once
// What stages around several forwards did, where a recorder looked into some of the forwards only. A prefill
// or a decode step that launches as many kernels as its neighbours does the same work: what is not known of
// it lies between theirs (the KV cache grows evenly). A stage around them has the sum, or nothing where one
// stays unknown. Thread rule: pure function.

#include <vector>

#include "analyze/facts/stages.h"
#include "analyze/passes/stages/find_stages.h"

namespace nl::passes::stages {

// `stages`: the found ones in their order, with the work of the forwards that were looked into.
void CompleteOuterStages(const FoundStages& found, std::vector<StagesFacts::Stage>& stages);

}  // namespace nl::passes::stages
