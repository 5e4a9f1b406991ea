// SPDX-License-Identifier: Apache-2.0
#pragma once
// Why a gate says what it says: the top contributions to the difference between the runs
// that are typical of each side, from `compare`.
// Thread rule: one request, one thread.

#include <string>
#include <vector>

#include "ops/gate/judge.h"
#include "ops/open_analysis.h"

namespace nl::ops::gate {

// Runs of one side, in the order of MetricRuns' values.
struct SideRuns {
  std::vector<std::string> run_ids;
  std::vector<double> values;  // of the metric that is explained
};

// {run_a, run_b, wall_a_ms, wall_b_ms, contributions: [{rank, cause, delta_ms, text}]} of the pair of runs
// nearest to the medians; null when there is nothing to tell. What cannot be compared is told in `reason`
// and never fails the gate.
Json ExplainContributions(const OpContext& context, const AnalysisParams& params, const SideRuns& baseline,
                          const SideRuns& candidate);

}  // namespace nl::ops::gate
