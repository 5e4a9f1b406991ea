// SPDX-License-Identifier: Apache-2.0
// Repeated runs on each side: which differences hold over all of them.
#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "analyze/compare/compare.h"
#include "analyze/compare/verdict/rank.h"
#include "analyze/facts/timeline.h"
#include "analyze/statistics/stats.h"
#include "base/human.h"

namespace nl {

namespace {

// Contributions of different pairs that speak of the same thing.
std::string KeyOf(const Contribution& c) {
  return fmt::format("{}|{}|{}", static_cast<int>(c.cause), c.detail, c.module);
}

Result<size_t> NearestToMedian(const std::vector<Analysis*>& runs) {
  std::vector<std::pair<int64_t, size_t>> walls;
  for (size_t i = 0; i < runs.size(); ++i) {
    NL_ASSIGN(const TimelineFacts* timeline, runs[i]->Need<TimelineFacts>());
    walls.push_back({timeline->wall_ns(), i});
  }
  std::sort(walls.begin(), walls.end());
  return walls[walls.size() / 2].second;
}

struct Samples {
  std::vector<double> a, b;
};

class RunSets {
 public:
  RunSets(const std::vector<Analysis*>& a, const std::vector<Analysis*>& b, const CompareOptions& options)
      : a_(a), b_(b), options_(options) {}

  Result<Comparison> Run() {
    NL_ASSIGN(const size_t middle_a, NearestToMedian(a_));
    NL_ASSIGN(const size_t middle_b, NearestToMedian(b_));
    NL_ASSIGN(Comparison told, CompareRuns(*a_[middle_a], *b_[middle_b], options_));
    Take(told, true, true);
    for (size_t i = 0; i < a_.size(); ++i) {
      if (i == middle_a) continue;
      NL_ASSIGN(const Comparison other, CompareRuns(*a_[i], *b_[middle_b], options_));
      Take(other, true, false);
    }
    for (size_t i = 0; i < b_.size(); ++i) {
      if (i == middle_b) continue;
      NL_ASSIGN(const Comparison other, CompareRuns(*a_[middle_a], *b_[i], options_));
      Take(other, false, true);
    }
    told.walls_a_ms = walls_.a;
    told.walls_b_ms = walls_.b;
    Judge(told);
    return told;
  }

 private:
  void Take(const Comparison& c, bool side_a, bool side_b) {
    if (side_a) walls_.a.push_back(c.wall_a_ms);
    if (side_b) walls_.b.push_back(c.wall_b_ms);
    for (const Contribution& x : c.contributions) {
      Samples& to = by_key_[KeyOf(x)];
      if (side_a) to.a.push_back(x.a_ms);
      if (side_b) to.b.push_back(x.b_ms);
    }
  }

  void Judge(Comparison& told) {
    std::vector<double> p;
    for (const Contribution& c : told.contributions) {
      const Samples& s = by_key_[KeyOf(c)];
      p.push_back(s.a.size() < 2 || s.b.size() < 2 ? NAN : TestSignificance(s.a, s.b).p_value);
    }
    const std::vector<double> q = BenjaminiHochberg(p);
    for (size_t i = 0; i < q.size(); ++i) {
      Contribution& c = told.contributions[i];
      if (std::isnan(q[i])) continue;
      c.p_value = q[i];
      c.confidence = c.structural ? 1 : 1 - q[i];
      const bool holds = q[i] <= 0.01;
      if (c.cause == Cause::kNoise) {
        JudgeDrift(c, holds, told.wall_a_ms);
      } else if (!c.structural) {
        c.significant = holds;
      }
    }
    compare::Rerank(told);
    JudgeWall(told);
  }

  // What one pair cannot tell from chance: the host is slower in every run of B.
  static void JudgeDrift(Contribution& c, bool holds, double wall_ms) {
    if (!holds || std::abs(c.delta_ms()) < 0.01 * wall_ms) return;
    c.cause = c.delta_ms() > 0 ? Cause::kHostSlower : Cause::kHostFaster;
    c.significant = true;
    c.text =
        fmt::format("unchanged work takes {} in all runs of B", c.delta_ms() > 0 ? "longer" : "less time");
  }

  void JudgeWall(Comparison& told) const {
    const Significance d = TestSignificance(walls_.a, walls_.b);
    CompareVerdict& v = told.verdict;
    const bool refused =
        v.verdict == "undecided" && !told.comparability.empty() && v.more_runs_needed == std::nullopt;
    if (refused) return;  // the work or the device is another: more runs do not change that
    v.verdict = std::string(VerdictName(d.verdict));
    v.confidence = d.confidence;
    v.p_value = std::isnan(d.p_value) ? std::nullopt : std::optional(d.p_value);
    v.more_runs_needed = d.more_runs_needed;
    // Of two runs a side the interval may be wider than anything it could tell.
    constexpr double kWidest = 1;
    const bool of_use = d.ci_high - d.ci_low <= kWidest;
    v.text = fmt::format(
        "{} runs against {}: wall {:+.2f} % ({})", walls_.a.size(), walls_.b.size(), (d.ratio - 1) * 100,
        of_use ? fmt::format("99 % interval {:+.2f} to {:+.2f} %", d.ci_low * 100, d.ci_high * 100)
               : "too few runs for an interval that is of use");
    if (!d.reason.empty()) v.text += "; " + d.reason;
    if (d.verdict == VerdictClass::kUndecided && d.more_runs_needed)
      v.text += fmt::format("; {} more on each side would settle it", *d.more_runs_needed);
    v.text += ".";
  }

  const std::vector<Analysis*>&a_, &b_;
  const CompareOptions& options_;
  Samples walls_;
  std::map<std::string, Samples> by_key_;
};

}  // namespace

Result<Comparison> CompareRunSets(const std::vector<Analysis*>& a, const std::vector<Analysis*>& b,
                                  const CompareOptions& options) {
  if (a.empty() || b.empty()) return InvalidInput("each side of a comparison needs a run");
  if (a.size() == 1 && b.size() == 1) return CompareRuns(*a[0], *b[0], options);
  return RunSets(a, b, options).Run();
}

}  // namespace nl
