// SPDX-License-Identifier: Apache-2.0
#include "report/gate/gate_reply.h"

#include <array>
#include <cmath>

#include <fmt/format.h>

#include "report/compare/explain.h"

namespace nl {

std::span<const std::string_view> NamesOf(UndecidedPolicy) {
  static constexpr std::array<std::string_view, 2> kNames = {"pass", "fail"};
  return kNames;
}

void Describe(Record<GateMetric>& r) {
  r.Name("GateMetric", "One metric of a gate: baseline against candidate");
  r.Field("metric", &GateMetric::metric, "Metric");
  r.Field("unit", &GateMetric::unit, "Unit of its values");
  r.Field("larger_is_better", &GateMetric::larger_is_better, "Larger values are better");
  r.Field("outcome", &GateMetric::outcome, "Answer of the gate");
  r.Field("verdict", &GateMetric::verdict, "Statistical verdict, without regard to the limit");
  r.Field("baseline_median", &GateMetric::baseline_median, "Median of the baseline's runs");
  r.Field("candidate_median", &GateMetric::candidate_median, "Median of the candidate's runs");
  r.Field("change", &GateMetric::change, Unit::kShare, "Relative change in the metric's own direction");
  r.Field("ci_low", &GateMetric::ci_low, Unit::kShare, "Lower end of the interval of the change");
  r.Field("ci_high", &GateMetric::ci_high, Unit::kShare, "Upper end of the interval of the change");
  r.Field("p_value", &GateMetric::p_value, "Probability of such a difference by chance");
  r.Field("q_value", &GateMetric::q_value, "p_value corrected for the number of metrics");
  r.Field("confidence", &GateMetric::confidence, Unit::kShare, "Confidence in the verdict");
  r.Field("more_runs_needed", &GateMetric::more_runs_needed,
          "Runs to add on each side; null: the gate has decided");
  r.Field("autocorrelation", &GateMetric::autocorrelation,
          "Correlation of consecutive runs, which widened the interval; 0: none");
  r.Field("reason", &GateMetric::reason, "Why there is no verdict, or what is unusual");
  r.Field("text", &GateMetric::text, "The answer in one sentence");
  r.Field("baseline_values", &GateMetric::baseline_values, "Value in each run of the baseline");
  r.Field("candidate_values", &GateMetric::candidate_values, "Value in each run of the candidate");
}

void Describe(Record<GateRun>& r) {
  r.Name("GateRun", "A run of one side of a gate");
  r.Field("run_id", &GateRun::run_id, "Id of the run");
  r.Field("short_id", &GateRun::short_id, "Shortest unique start of the id");
  r.Field("source_name", &GateRun::source_name, "File that was imported");
  r.Field("created_at", &GateRun::created_at, "When the run was made, RFC 3339");
}

void Describe(Record<GateSide>& r) {
  r.Name("GateSide", "The runs of one side of a gate");
  r.Field("name", &GateSide::name, "Name of the baseline; null: runs named one by one");
  r.Field("runs", &GateSide::runs, "The runs");
}

void Describe(Record<GateContribution>& r) {
  r.Name("GateContribution", "One change between two runs and its cost");
  r.Field("rank", &GateContribution::rank, "Position in the list, from 1");
  r.Field("cause", &GateContribution::cause, "Class of the change (docs/compare.md)");
  r.Field("delta_ms", &GateContribution::delta_ms, Unit::kMs, "Part of the difference of the walls");
  r.Field("significant", &GateContribution::significant,
          "Structural, or larger than the variation between repeats");
  r.Field("text", &GateContribution::text, "The change in one sentence");
}

void Describe(Record<GateExplanation>& r) {
  r.Name("GateExplanation", "The largest changes between the runs nearest to the medians of both sides");
  r.Field("run_a", &GateExplanation::run_a, "Run of the baseline");
  r.Field("run_b", &GateExplanation::run_b, "Run of the candidate");
  r.Field("reason", &GateExplanation::reason, "Why the runs could not be compared; null: they were");
  r.Field("wall_a_ms", &GateExplanation::wall_a_ms, Unit::kMs, "Wall time of run_a");
  r.Field("wall_b_ms", &GateExplanation::wall_b_ms, Unit::kMs, "Wall time of run_b");
  r.Field("contributions", &GateExplanation::contributions, "The changes, largest first");
}

void Describe(Record<GateReply>& r) {
  r.Name("GateReply", "Reply of `neurolens gate`");
  r.Field("outcome", &GateReply::outcome, "Answer over all metrics");
  r.Field("text", &GateReply::text, "The answer in one line");
  r.Field("undecided_policy", &GateReply::undecided_policy,
          "What undecided counts as; null: it is exit status 2");
  r.Field("max_regression", &GateReply::max_regression, Unit::kShare, "How much worse a metric may get");
  r.Field("alpha", &GateReply::alpha, Unit::kShare, "Allowed false alarm rate");
  r.Field("judged_at", &GateReply::judged_at, "When the gate ran, RFC 3339");
  r.Field("baseline", &GateReply::baseline, "Baseline");
  r.Field("candidate", &GateReply::candidate, "Candidate");
  r.Field("metrics", &GateReply::metrics, "Each metric");
  r.Field("comparability", &GateReply::comparability, "Differences between the setups");
  r.Field("phase", &GateReply::phase,
          "Part of the runs that wall, device, idle, op and kernel metrics are of; null: whole runs");
  r.Field("explanation", &GateReply::explanation, "Where the difference comes from; null for a pass");
  r.Field("files", &GateReply::files, "Files written");
}

namespace {

std::string ChangePercent(double share) {
  return std::isnan(share) ? "?" : fmt::format("{:+.2f} %", 100 * share);
}

// Without a spread only the least number of runs that could show one is known.
std::string MoreRunsText(const MetricVerdict& v) {
  constexpr int64_t kMany = 100;
  const int64_t n = v.more_runs_needed.value_or(1);
  const char* plural = n == 1 ? "" : "s";
  if (!v.spread_known)
    return fmt::format("at least {} more run{} on each side {} needed", n, plural, n == 1 ? "is" : "are");
  if (n > kMany)
    return fmt::format(
        "it would take over {} more runs on each side: reduce the variation between runs first", kMany);
  return fmt::format("about {} more run{} on each side would decide", n, plural);
}

std::string ChangeWithInterval(const MetricVerdict& v, const RegressionLimits& limits) {
  // With two runs on a side the interval may be so wide that it excludes nothing.
  constexpr double kWidestInterval = 1;
  if (std::isnan(v.ci_low)) return ChangePercent(v.change);
  if (!(v.ci_high - v.ci_low <= kWidestInterval))
    return fmt::format("{} (too few runs for a useful interval)", ChangePercent(v.change));
  return fmt::format("{} ({:g} % interval {} to {})", ChangePercent(v.change), 100 * (1 - limits.alpha),
                     ChangePercent(v.ci_low), ChangePercent(v.ci_high));
}

std::string MetricSentence(const MetricVerdict& v, const RegressionLimits& limits) {
  const std::string limit = fmt::format("{:g} %", 100 * limits.max_regression);
  const std::string change = ChangeWithInterval(v, limits);
  switch (v.outcome) {
    case GateOutcome::kRegressed: return fmt::format("regressed: {}, limit {}", change, limit);
    case GateOutcome::kPass:
      return v.significance.verdict == VerdictClass::kImproved
                 ? fmt::format("improved: {}", change)
                 : fmt::format("a regression beyond {} is ruled out: {}", limit, change);
    case GateOutcome::kUndecided: break;
  }
  std::string out = fmt::format("undecided: {}", change);
  if (!v.significance.reason.empty()) out += "; " + v.significance.reason;
  return out + "; " + MoreRunsText(v);
}

std::optional<double> IfFinite(double value) {
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

}  // namespace

GateMetric GateMetricOf(const MetricVerdict& v, const RegressionLimits& limits) {
  GateMetric out;
  out.metric = v.samples.metric;
  out.unit = v.samples.unit;
  out.larger_is_better = v.samples.larger_is_better;
  out.outcome = v.outcome;
  out.verdict = v.significance.verdict;
  out.baseline_median = IfFinite(v.baseline_median);
  out.candidate_median = IfFinite(v.candidate_median);
  out.change = IfFinite(v.change);
  out.ci_low = IfFinite(v.ci_low);
  out.ci_high = IfFinite(v.ci_high);
  out.p_value = v.significance.p_value;
  out.q_value = v.q_value;
  out.confidence = v.significance.confidence;
  out.more_runs_needed = v.more_runs_needed;
  out.autocorrelation = v.significance.autocorrelation;
  if (!v.significance.reason.empty()) out.reason = v.significance.reason;
  out.text = MetricSentence(v, limits);
  out.baseline_values = v.samples.baseline;
  out.candidate_values = v.samples.candidate;
  return out;
}

GateExplanation GateExplanationOf(const Comparison& comparison, size_t top) {
  GateExplanation out;
  out.run_a = comparison.run_a;
  out.run_b = comparison.run_b;
  out.wall_a_ms = comparison.wall_a_ms;
  out.wall_b_ms = comparison.wall_b_ms;
  for (const Contribution& c : comparison.contributions) {
    if (out.contributions.size() == top) break;
    out.contributions.push_back({static_cast<int64_t>(out.contributions.size() + 1), c.cause, c.delta_ms(),
                                 c.significant, ContributionText(c, comparison)});
  }
  return out;
}

std::string GateHeadline(const GateReply& r) {
  std::string names;
  for (const GateMetric& m : r.metrics) {
    if (m.outcome == r.outcome) names += (names.empty() ? "" : ", ") + m.metric;
  }
  const std::string limit = fmt::format("{:g} %", 100 * r.max_regression);
  switch (r.outcome) {
    case GateOutcome::kPass: return fmt::format("pass: a regression beyond {} is ruled out", limit);
    case GateOutcome::kRegressed: return fmt::format("regressed: {} (limit {})", names, limit);
    case GateOutcome::kUndecided: break;
  }
  if (!r.undecided_policy) return "undecided: " + names;
  return fmt::format("undecided: {} (counted as {})", names,
                     *r.undecided_policy == UndecidedPolicy::kPass ? "pass" : "fail");
}

}  // namespace nl
