// SPDX-License-Identifier: Apache-2.0
#pragma once
// The decision of a gate: metrics of the baseline's runs against those of the candidate's.
// regressed: a difference is shown (false discovery rate over the metrics at most alpha) and
// the observed change exceeds the limit. pass: a regression beyond the limit is ruled out (the
// interval ends below it). Anything else is undecided, with the number of runs that would decide.
// Thread rule: pure functions.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/statistics/stats.h"

namespace nl {

enum class GateOutcome : uint8_t { kPass, kRegressed, kUndecided };
std::string_view OutcomeName(GateOutcome outcome);  // pass, regressed, undecided
std::span<const std::string_view> NamesOf(GateOutcome);

// One metric in every run of both sides.
struct MetricSamples {
  std::string metric, unit;
  bool larger_is_better = false;
  std::vector<double> baseline, candidate;
};

struct RegressionLimits {
  double max_regression = 0.02;  // relative to the baseline, in the bad direction of each metric
  double alpha = 0.01;
  bool paired = false;
};

// In the metric's own direction: a change of -0.05 in tokens_per_s is 5 % fewer tokens.
struct MetricVerdict {
  MetricSamples samples;
  double baseline_median = 0, candidate_median = 0;
  double change = 0, ci_low = 0, ci_high = 0;  // relative; NaN when unknown
  double q_value = 1;
  Significance significance;  // of the costs: where larger is better, of the reciprocal
  GateOutcome outcome = GateOutcome::kUndecided;
  std::optional<int64_t> more_runs_needed;  // on each side, when undecided
  // More runs are only an estimate when the spread is known: enough runs, and an interval.
  bool spread_known = false;
};

std::vector<MetricVerdict> JudgeMetrics(std::vector<MetricSamples> metrics, const RegressionLimits& limits);
// regressed if any metric is; else undecided if any is, or there is none.
GateOutcome OverallOutcome(const std::vector<MetricVerdict>& metrics);

}  // namespace nl
