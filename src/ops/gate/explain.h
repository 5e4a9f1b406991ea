// SPDX-License-Identifier: Apache-2.0
#pragma once
// Why a gate did not pass: the largest contributions to the difference between a typical run
// of each side, from `compare`.
// Thread rule: one request, one thread.

#include <optional>
#include <string>
#include <vector>

#include "ops/common_phase.h"
#include "report/gate/gate_reply.h"

namespace nl::ops::gate {

// Runs of one side, in the order of the metric's values.
struct SideRuns {
  std::vector<std::string> run_ids;
  std::vector<double> values;  // of the metric to explain
  size_t first = 0;            // number of the first of them in CommonPhase
};

// Compares the runs nearest to the medians, or the part of them that `phase` says (null: whole runs); null
// when a side has none. If they cannot be compared, `reason` has the error: it never fails the gate.
std::optional<GateExplanation> ExplainContributions(const OpContext& context, const AnalysisParams& params,
                                                    const CommonPhase* phase, const SideRuns& baseline,
                                                    const SideRuns& candidate);

}  // namespace nl::ops::gate
