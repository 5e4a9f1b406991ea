// SPDX-License-Identifier: Apache-2.0
#pragma once
// The merged call tree of a run (analyze/program/flame.h) as other tools read it. Names are those of
// the run; each form escapes what has a meaning in it.
// Thread rule: pure functions.

#include <string>

#include "analyze/program/flame.h"

namespace nl {

// https://www.speedscope.app: one profile of host time, one of device time.
std::string SpeedscopeText(const FlameTree& tree, const RunData& data, const TimelineFacts& timeline,
                           const std::string& title);
// One line "a;b;c nanoseconds" per path with self time.
std::string CollapsedText(const FlameTree& tree, const RunData& data, const TimelineFacts& timeline,
                          bool device);

}  // namespace nl
