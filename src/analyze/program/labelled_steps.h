// SPDX-License-Identifier: Apache-2.0
#pragma once
// The labelled steps of a run: of one label, by time, not overlapping. Labels nest (ProfilerStep around
// decode steps): the one with the most spans is the loop. Thread rule: pure function.

#include <string>
#include <vector>

#include "analyze/run_data.h"
#include "base/intervals.h"

namespace nl::program {

struct LabelledSteps {
  std::vector<Interval> steps;  // empty: no label has steps that do not overlap
  std::string label;
};

inline constexpr Reads kLabelledStepReads = NL_READS(Step, start_ns, dur_ns, name);
LabelledSteps FindLabelledSteps(const RunData& data);

}  // namespace nl::program
