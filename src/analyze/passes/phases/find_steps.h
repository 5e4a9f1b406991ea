// SPDX-License-Identifier: Apache-2.0
#pragma once
// The steps of a run: labelled ones, else what repeats in the sequence of its launches.
//
// Labels come first, even a single one: inside a step its layers repeat, and they are not steps. Without
// labels, the period of the whole sequence is searched (find_period.h), then that of its graph launches. A
// step begins after the longest pause of the host, or after it waited for the device, at the same place of
// most periods. Occurrences of the first tokens of a step are where steps begin, so a step with a few kernels
// more or less is still one step; what lies between two steps and is different becomes a step of its own.
// Thread rule: pure functions.

#include <string>
#include <vector>

#include "analyze/facts/phases.h"
#include "analyze/passes/phases/launch_sequence.h"
#include "analyze/program/labelled_steps.h"
#include "base/intervals.h"

namespace nl::passes::phases {

struct FoundSteps {
  StepSource source = StepSource::kNone;
  std::string label;            // of labelled steps
  std::string reason;           // why there are none
  std::vector<Interval> steps;  // by time, not overlapping
};

inline constexpr Reads kFindStepsReads = kLaunchSequenceReads | program::kLabelledStepReads;
FoundSteps FindSteps(const RunData& data, const TimelineFacts& timeline, const MainLane& lane);

// Steps detected in a sequence of launches.
FoundSteps DetectSteps(const LaunchSequence& sequence);

}  // namespace nl::passes::phases
