// SPDX-License-Identifier: Apache-2.0
#pragma once
// Applies rules to the features of a run. Pure: the same input gives the same findings
// in the same order.
// Thread rule: any thread. Ownership: plain values.

#include "analyze/facts/findings.h"
#include "analyze/replay/step_replay.h"

namespace nl {

struct RuleResults {
  std::vector<Finding> findings;  // deduplicated by (rule, subject), by gain, then by score
  std::vector<NotAssessed> not_assessed;
  int64_t rules = 0;
};

// `steps`: to predict gains with; null where the run has no steps.
RuleResults ApplyRules(const RuleSet& rules, const Features& features,
                       const replay::StepReplay* steps = nullptr);

}  // namespace nl
