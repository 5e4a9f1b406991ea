// SPDX-License-Identifier: Apache-2.0
// Repeated runs on each side: which differences are present in all of them.
#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "analyze/compare/compare.h"
#include "analyze/compare/verdict/rank.h"
#include "analyze/facts/timeline.h"
#include "analyze/statistics/stats.h"

namespace nl {

namespace {

// Contributions of different pairs with the same key are the same change.
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
    NL_ASSIGN(const size_t median_a, NearestToMedian(a_));
    NL_ASSIGN(const size_t median_b, NearestToMedian(b_));
    NL_ASSIGN(Comparison out, CompareRuns(*a_[median_a], *b_[median_b], options_));
    // In the order of the runs, so that walls_a_ms[i] is of run i and drift over time shows.
    for (size_t i = 0; i < a_.size(); ++i) {
      if (i == median_a) {
        TakeA(out);
        continue;
      }
      NL_ASSIGN(const Comparison other, CompareRuns(*a_[i], *b_[median_b], options_));
      TakeA(other);
    }
    for (size_t i = 0; i < b_.size(); ++i) {
      if (i == median_b) {
        TakeB(out);
        continue;
      }
      NL_ASSIGN(const Comparison other, CompareRuns(*a_[median_a], *b_[i], options_));
      TakeB(other);
    }
    out.walls_a_ms = walls_.a;
    out.walls_b_ms = walls_.b;
    Judge(out);
    return out;
  }

 private:
  void TakeA(const Comparison& c) {
    walls_.a.push_back(c.wall_a_ms);
    for (const Contribution& x : c.contributions) by_key_[KeyOf(x)].a.push_back(x.a_ms);
  }
  void TakeB(const Comparison& c) {
    walls_.b.push_back(c.wall_b_ms);
    for (const Contribution& x : c.contributions) by_key_[KeyOf(x)].b.push_back(x.b_ms);
  }

  void Judge(Comparison& out) {
    std::vector<double> p;
    for (const Contribution& c : out.contributions) {
      const Samples& s = by_key_[KeyOf(c)];
      p.push_back(s.a.size() < 2 || s.b.size() < 2 ? NAN : TestSignificance(s.a, s.b).p_value);
    }
    const std::vector<double> q = BenjaminiHochberg(p);
    for (size_t i = 0; i < q.size(); ++i) {
      Contribution& c = out.contributions[i];
      if (std::isnan(q[i])) continue;
      c.p_value = q[i];
      c.confidence = c.structural ? 1 : 1 - q[i];
      const bool holds = q[i] <= 0.01;
      if (c.cause == Cause::kNoise) {
        JudgeDrift(c, holds, out.wall_a_ms);
      } else if (!c.structural && c.cause != Cause::kRecording) {
        c.significant = holds;
      }
    }
    compare::Rerank(out);
    JudgeWall(out);
  }

  // A drift that a single pair cannot distinguish from chance: the host is slower in every run of B.
  static void JudgeDrift(Contribution& c, bool holds, double wall_ms) {
    if (!holds || std::abs(c.delta_ms()) < 0.01 * wall_ms) return;
    c.cause = c.delta_ms() > 0 ? Cause::kHostSlower : Cause::kHostFaster;
    c.significant = c.in_every_run = true;
  }

  void JudgeWall(Comparison& out) const {
    CompareVerdict& v = out.verdict;
    using Basis = CompareVerdict::Basis;
    // More runs do not make different work or another device comparable.
    if (v.basis == Basis::kNotComparable || (v.basis == Basis::kOnlyWork && !out.comparability.empty()))
      return;
    v.basis = Basis::kRunSets;
    v.over_runs = TestSignificance(walls_.a, walls_.b);
    v.verdict = v.over_runs.verdict;
    v.confidence = v.over_runs.confidence;
    v.p_value = std::isnan(v.over_runs.p_value) ? std::nullopt : std::optional(v.over_runs.p_value);
    v.more_runs_needed = v.over_runs.more_runs_needed;
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
