// SPDX-License-Identifier: Apache-2.0
#pragma once
// The decision of a gate: metrics of the baseline's runs against those of the candidate's.
// regressed: a difference is shown (false-discovery rate over the metrics at most alpha) and
// the change seen is beyond the limit. pass: a regression beyond the limit is ruled out (the
// interval ends below it). Anything else is undecided, with the runs that would settle it.
// Thread rule: pure functions.

#include <optional>
#include <string>
#include <vector>

#include "analyze/statistics/stats.h"
#include "base/json.h"
#include "base/result.h"

namespace nl::ops::gate {

enum class Outcome { kPass, kRegressed, kUndecided };
std::string_view OutcomeName(Outcome outcome);  // pass, regressed, undecided

// One metric of every run of both sides.
struct MetricRuns {
  std::string metric, unit;
  bool larger_is_better = false;
  std::vector<double> baseline, candidate;
};

struct Limits {
  double max_regression = 0.02;  // relative to the baseline, in the bad direction of each metric
  double alpha = 0.01;
  bool paired = false;
};

// In the metric's own direction: a change of -0.05 of tokens_per_s is 5 % fewer tokens.
struct Judged {
  MetricRuns runs;
  double baseline_median = 0, candidate_median = 0;
  double change = 0, ci_low = 0, ci_high = 0;  // relative; NaN when not known
  double q_value = 1;
  Significance decision;  // of the costs: for a metric that is better larger, of its reciprocal
  Outcome outcome = Outcome::kUndecided;
  std::string text;  // one sentence
};

std::vector<Judged> Judge(std::vector<MetricRuns> metrics, const Limits& limits);
// regressed when one is, undecided when none is but one is that.
Outcome Overall(const std::vector<Judged>& metrics);

// "2%", "0.5 %" or "0.02"; above 0 and below 100 %.
Result<double> ParseLimit(const std::string& text);

Json ToJson(const Judged& judged);

}  // namespace nl::ops::gate
