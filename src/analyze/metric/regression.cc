// SPDX-License-Identifier: Apache-2.0
#include "analyze/metric/regression.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "analyze/statistics/stats.h"
#include "analyze/statistics/student_t.h"

namespace nl {

namespace {

constexpr int64_t kFewestForSpread = 3, kEnough = 5;  // runs of a side: for an estimate, for most changes

// Where larger is better, the cost is the reciprocal: seconds per token instead of tokens per second.
std::vector<double> CostsOf(const MetricSamples& m, const std::vector<double>& values) {
  std::vector<double> out(values);
  if (m.larger_is_better) {
    for (double& v : out) v = v > 0 ? 1 / v : kNan;
  }
  return out;
}

// The limit as a change of the cost: 2 % fewer tokens per second are 2.04 % more seconds per token.
double CostLimit(const MetricSamples& m, double max_regression) {
  return m.larger_is_better ? 1 / (1 - max_regression) - 1 : max_regression;
}

// A relative change of the cost as one of the metric.
double OwnChange(const MetricSamples& m, double cost_change) {
  return m.larger_is_better ? 1 / (1 + cost_change) - 1 : cost_change;
}

int64_t RunsOf(const Significance& s) { return std::min(s.count_a, s.count_b); }

// The gate's question is one-sided: the upper end of the interval against the limit.
GateOutcome OutcomeOf(const MetricVerdict& v, double cost_limit, double alpha) {
  const Significance& s = v.significance;
  const bool shown = s.verdict != VerdictClass::kUndecided;
  const bool worse = s.verdict == VerdictClass::kRegressed && v.q_value <= alpha;
  if (worse && (std::isnan(s.ratio) || s.ratio - 1 > cost_limit)) return GateOutcome::kRegressed;
  if (shown && s.verdict != VerdictClass::kRegressed) return GateOutcome::kPass;
  // Worse, but certainly by less than the limit.
  if (!std::isnan(s.ci_high) && s.ci_high <= cost_limit && RunsOf(s) >= kFewestForSpread)
    return GateOutcome::kPass;
  return GateOutcome::kUndecided;
}

// Runs to add on each side until the gate would decide in nine of ten cases if the change stays as
// observed: the interval shrinks with the square root of the number of runs.
int64_t MoreRuns(const Significance& s, double cost_limit, double alpha) {
  const double change = s.ratio - 1;
  const double half = s.ci_high - change;
  const int64_t known = s.more_runs_needed.value_or(1);
  if (RunsOf(s) < kFewestForSpread) return kEnough - RunsOf(s);
  if (std::isnan(half) || !(half > 0)) return known;
  const double room = change > cost_limit ? change : cost_limit - change;
  if (!(room > 0)) return known;
  const double z = NormalQuantile(1 - alpha / 2);
  const double stretch = (z + NormalQuantile(0.9)) / z;
  const auto runs = static_cast<double>(RunsOf(s));
  const double needed = std::ceil(runs * std::pow(stretch * half / room, 2));
  return static_cast<int64_t>(std::clamp(needed - runs, 1.0, static_cast<double>(kMostRunsNeeded)));
}

MetricVerdict Compare(MetricSamples samples, const RegressionLimits& limits) {
  MetricVerdict out;
  SignificanceOptions options;
  options.equivalence_margin = CostLimit(samples, limits.max_regression);
  options.alpha = limits.alpha;
  options.paired = limits.paired;
  out.significance =
      TestSignificance(CostsOf(samples, samples.baseline), CostsOf(samples, samples.candidate), options);
  out.baseline_median = Median(samples.baseline);
  out.candidate_median = Median(samples.candidate);
  out.change = OwnChange(samples, out.significance.ratio - 1);
  out.ci_low = OwnChange(samples, out.significance.ci_low);
  out.ci_high = OwnChange(samples, out.significance.ci_high);
  if (samples.larger_is_better) std::swap(out.ci_low, out.ci_high);
  out.samples = std::move(samples);
  return out;
}

}  // namespace

std::span<const std::string_view> NamesOf(GateOutcome) {
  static constexpr std::array<std::string_view, 3> kNames = {"pass", "regressed", "undecided"};
  return kNames;
}

std::string_view OutcomeName(GateOutcome outcome) { return NamesOf(outcome)[static_cast<size_t>(outcome)]; }

std::vector<MetricVerdict> JudgeMetrics(std::vector<MetricSamples> metrics, const RegressionLimits& limits) {
  std::vector<MetricVerdict> out;
  std::vector<double> p;
  for (MetricSamples& samples : metrics) {
    out.push_back(Compare(std::move(samples), limits));
    p.push_back(out.back().significance.p_value);
  }
  const std::vector<double> q = BenjaminiHochberg(p);
  for (size_t i = 0; i < out.size(); ++i) {
    MetricVerdict& v = out[i];
    const double cost_limit = CostLimit(v.samples, limits.max_regression);
    v.q_value = q[i];
    v.outcome = OutcomeOf(v, cost_limit, limits.alpha);
    v.spread_known = !std::isnan(v.ci_low) && RunsOf(v.significance) >= kFewestForSpread;
    if (v.outcome == GateOutcome::kUndecided)
      v.more_runs_needed = MoreRuns(v.significance, cost_limit, limits.alpha);
  }
  return out;
}

GateOutcome OverallOutcome(const std::vector<MetricVerdict>& metrics) {
  const auto any = [&](GateOutcome outcome) {
    return std::any_of(metrics.begin(), metrics.end(),
                       [&](const MetricVerdict& v) { return v.outcome == outcome; });
  };
  if (any(GateOutcome::kRegressed)) return GateOutcome::kRegressed;
  return metrics.empty() || any(GateOutcome::kUndecided) ? GateOutcome::kUndecided : GateOutcome::kPass;
}

}  // namespace nl
