// SPDX-License-Identifier: Apache-2.0
#include "ops/gate/judge.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "analyze/statistics/student_t.h"

namespace nl::ops::gate {

namespace {

constexpr int64_t kFewestForSpread = 3, kEnough = 5;  // runs of a side: for a guess, for most changes
constexpr double kMostRuns = 100'000;                 // beyond it, more runs are not the answer

double Median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return (v[(v.size() - 1) / 2] + v[v.size() / 2]) / 2;
}

// What is better larger becomes a cost: seconds per token instead of tokens per second.
std::vector<double> Costs(const MetricRuns& m, const std::vector<double>& values) {
  std::vector<double> out(values);
  if (m.larger_is_better) {
    for (double& v : out) v = v > 0 ? 1 / v : std::nan("");
  }
  return out;
}

// The limit as a change of the cost: 2 % fewer tokens per second are 2.04 % more seconds per token.
double CostLimit(const MetricRuns& m, double max_regression) {
  return m.larger_is_better ? 1 / (1 - max_regression) - 1 : max_regression;
}

// A relative change of the cost as one of the metric.
double OwnChange(const MetricRuns& m, double cost_change) {
  return m.larger_is_better ? 1 / (1 + cost_change) - 1 : cost_change;
}

std::string Percent(double share) { return std::isnan(share) ? "?" : fmt::format("{:+.2f} %", 100 * share); }

int64_t RunsOf(const Significance& d) { return std::min(d.count_a, d.count_b); }

// Without a spread there is only the least number that could show one.
std::string MoreRunsText(const Judged& j) {
  constexpr int64_t kMany = 100;
  const int64_t n = *j.decision.more_runs_needed;
  const char* plural = n == 1 ? "" : "s";
  if (std::isnan(j.ci_low) || RunsOf(j.decision) < kFewestForSpread)
    return fmt::format("at least {} more run{} on each side {} needed", n, plural, n == 1 ? "is" : "are");
  if (n > kMany)
    return fmt::format("it would take over {} more runs on each side: make the runs steadier first", kMany);
  return fmt::format("about {} more run{} on each side would settle it", n, plural);
}

std::string Sentence(const Judged& j, const Limits& limits) {
  const std::string limit = fmt::format("{:g} %", 100 * limits.max_regression);
  // Of two runs a side the interval may be wider than anything it could tell.
  constexpr double kWidest = 1;
  const bool of_use = j.ci_high - j.ci_low <= kWidest;
  const std::string change =
      std::isnan(j.ci_low) ? Percent(j.change)
      : !of_use ? fmt::format("{} (too few runs for an interval that is of use)", Percent(j.change))
                : fmt::format("{} ({:g} % interval {} to {})", Percent(j.change), 100 * (1 - limits.alpha),
                              Percent(j.ci_low), Percent(j.ci_high));
  switch (j.outcome) {
    case Outcome::kRegressed: return fmt::format("regressed: {}, limit {}", change, limit);
    case Outcome::kPass:
      return j.decision.verdict == VerdictClass::kImproved
                 ? fmt::format("improved: {}", change)
                 : fmt::format("a regression beyond {} is ruled out: {}", limit, change);
    case Outcome::kUndecided: break;
  }
  std::string out = fmt::format("undecided: {}", change);
  if (!j.decision.reason.empty()) out += "; " + j.decision.reason;
  return out + (j.decision.more_runs_needed ? "; " + MoreRunsText(j) : "");
}

// The gate's question is one-sided: how far is the interval's upper end from the limit, or the change
// from zero when it lies beyond it?
Outcome OutcomeOf(const Judged& j, double cost_limit, double alpha) {
  const Significance& d = j.decision;
  const bool shown = d.verdict != VerdictClass::kUndecided;
  const bool worse = d.verdict == VerdictClass::kRegressed && j.q_value <= alpha;
  if (worse && (std::isnan(d.ratio) || d.ratio - 1 > cost_limit)) return Outcome::kRegressed;
  if (shown && d.verdict != VerdictClass::kRegressed) return Outcome::kPass;
  // Worse, but less than the limit with certainty.
  if (!std::isnan(d.ci_high) && d.ci_high <= cost_limit && d.count_a >= 3 && d.count_b >= 3)
    return Outcome::kPass;
  return Outcome::kUndecided;
}

// Runs to add on each side until the gate's question would be answered nine times in ten, if the change
// stays what it is: the interval shrinks with the square root of the runs.
int64_t MoreRuns(const Significance& d, double cost_limit, double alpha) {
  const double change = d.ratio - 1;
  const double half = d.ci_high - change;
  const int64_t known = d.more_runs_needed.value_or(1);
  if (RunsOf(d) < kFewestForSpread) return kEnough - RunsOf(d);
  if (std::isnan(half) || !(half > 0)) return known;
  const double room = change > cost_limit ? change : cost_limit - change;
  if (!(room > 0)) return known;
  const double z = NormalQuantile(1 - alpha / 2);
  const double stretch = (z + NormalQuantile(0.9)) / z;
  const auto runs = static_cast<double>(RunsOf(d));
  const double needed = std::ceil(runs * std::pow(stretch * half / room, 2));
  return static_cast<int64_t>(std::clamp(needed - runs, 1.0, kMostRuns));
}

}  // namespace

std::string_view OutcomeName(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPass: return "pass";
    case Outcome::kRegressed: return "regressed";
    case Outcome::kUndecided: return "undecided";
  }
  return "undecided";
}

std::vector<Judged> Judge(std::vector<MetricRuns> metrics, const Limits& limits) {
  std::vector<Judged> out;
  std::vector<double> p;
  for (MetricRuns& m : metrics) {
    Judged j;
    SignificanceOptions options;
    options.equivalence_margin = CostLimit(m, limits.max_regression);
    options.alpha = limits.alpha;
    options.paired = limits.paired;
    j.decision = TestSignificance(Costs(m, m.baseline), Costs(m, m.candidate), options);
    j.baseline_median = Median(m.baseline);
    j.candidate_median = Median(m.candidate);
    j.change = OwnChange(m, j.decision.ratio - 1);
    j.ci_low = OwnChange(m, j.decision.ci_low);
    j.ci_high = OwnChange(m, j.decision.ci_high);
    if (m.larger_is_better) std::swap(j.ci_low, j.ci_high);
    j.runs = std::move(m);
    p.push_back(j.decision.p_value);
    out.push_back(std::move(j));
  }
  const std::vector<double> q = BenjaminiHochberg(p);
  for (size_t i = 0; i < out.size(); ++i) {
    out[i].q_value = q[i];
    out[i].outcome = OutcomeOf(out[i], CostLimit(out[i].runs, limits.max_regression), limits.alpha);
    if (out[i].outcome == Outcome::kUndecided) {
      out[i].decision.more_runs_needed =
          MoreRuns(out[i].decision, CostLimit(out[i].runs, limits.max_regression), limits.alpha);
    }
    out[i].text = Sentence(out[i], limits);
  }
  return out;
}

Outcome Overall(const std::vector<Judged>& metrics) {
  const auto any = [&](Outcome outcome) {
    return std::any_of(metrics.begin(), metrics.end(), [&](const Judged& j) { return j.outcome == outcome; });
  };
  if (any(Outcome::kRegressed)) return Outcome::kRegressed;
  return metrics.empty() || any(Outcome::kUndecided) ? Outcome::kUndecided : Outcome::kPass;
}

Result<double> ParseLimit(const std::string& text) {
  std::string number = text;
  const bool percent = !number.empty() && number.back() == '%';
  if (percent) number.pop_back();
  while (!number.empty() && number.back() == ' ') number.pop_back();
  double value = 0;
  const char* end = number.data() + number.size();
  const auto [stop, error] = std::from_chars(number.data(), end, value);
  if (percent) value /= 100;
  // A bare 2 could be meant as 2 % or as threefold: neither is guessed.
  if (error != std::errc() || stop != end || !(value > 0) || !(value < 1)) {
    return InvalidInput(fmt::format("--max-regression: '{}' is not a share above 0 and below 100 %", text))
        .Hint("write 2% or 0.02");
  }
  return value;
}

Json ToJson(const Judged& j) {
  const auto known = [](double v) { return std::isfinite(v) ? Json(v) : Json(); };
  Json out{{"metric", j.runs.metric}, {"unit", j.runs.unit}, {"larger_is_better", j.runs.larger_is_better}};
  out["outcome"] = OutcomeName(j.outcome);
  out["verdict"] = VerdictName(j.decision.verdict);
  out["baseline_median"] = known(j.baseline_median);
  out["candidate_median"] = known(j.candidate_median);
  out["change"] = known(j.change);
  out["ci_low"] = known(j.ci_low);
  out["ci_high"] = known(j.ci_high);
  out["p_value"] = j.decision.p_value;
  out["q_value"] = j.q_value;
  out["confidence"] = j.decision.confidence;
  out["more_runs_needed"] = j.decision.more_runs_needed && j.outcome == Outcome::kUndecided
                                ? Json(*j.decision.more_runs_needed)
                                : Json();
  out["autocorrelation"] = j.decision.autocorrelation;
  out["reason"] = j.decision.reason.empty() ? Json() : Json(j.decision.reason);
  out["text"] = j.text;
  out["baseline_values"] = j.runs.baseline;
  out["candidate_values"] = j.runs.candidate;
  return out;
}

}  // namespace nl::ops::gate
