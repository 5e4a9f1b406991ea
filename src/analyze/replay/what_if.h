// SPDX-License-Identifier: Apache-2.0
#pragma once
// WhatIf: the steady step after fixes, by replaying it (step_replay.h). Fixes change one plan one after the
// other, so that nothing is gained twice; or each changes the recorded plan alone.
// Thread rule: pure functions.

#include <optional>
#include <string>
#include <vector>

#include "analyze/replay/fix_request.h"
#include "analyze/replay/gain.h"

namespace nl::replay {

struct FixOutcome {
  double step_ns = 0;  // with this fix and those before it
  Gain gain_ms;        // that it adds to those before it
  double gain_share = 0;
  std::optional<Gain> step_ms;  // bounds of the step, where the batch size changes
  std::string note;             // why nothing is gained, or what must come first; empty: nothing to say
};

// By fix, in order. A step never gets longer by a fix: one that would is not worth making and gains 0. With
// another batch size it may; what that gains is of the work of one recorded step.
std::vector<FixOutcome> ApplyInOrder(const StepReplay& steps, const FixSearch& search,
                                     const std::vector<RequestedFix>& fixes);
std::vector<FixOutcome> ApplyEachAlone(const StepReplay& steps, const FixSearch& search,
                                       const std::vector<RequestedFix>& fixes);

}  // namespace nl::replay
