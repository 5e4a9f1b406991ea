// SPDX-License-Identifier: Apache-2.0
#include "bench/interleave.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "analyze/statistics/seeded_random.h"
#include "analyze/statistics/stats.h"

namespace nl::bench {

namespace {

constexpr double kLeastSeconds = 1e-9;  // a clock that did not advance
constexpr int64_t kGroupRuns = 4;
constexpr double kLeastGroups = 40;    // with fewer every pair counts by itself
constexpr int64_t kMostRejected = 50;  // and four times as many as count: the GPU does not recover
constexpr double kLateBudgets = 2;
constexpr double kLookEvery = 1.03;  // pairs between two looks grow by this: a look costs time itself

double SinceS(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Half of the interval, relative to the ratio.
double HalfWidth(const SequentialEstimate& e) {
  return std::isfinite(e.low) && std::isfinite(e.high) ? std::expm1((e.high - e.low) / 2)
                                                       : std::numeric_limits<double>::infinity();
}

Verdict Judge(const SequentialEstimate& e, double margin) {
  if (e.low > 0) return Verdict::kFaster;
  if (e.high < 0) return Verdict::kSlower;
  const double reach = std::log1p(margin);
  return e.low >= -reach && e.high <= reach ? Verdict::kSame : Verdict::kUndecided;
}

class Measurement {
 public:
  Measurement(const InterleaveOptions& options, const RunSide& run, const OnProgress& progress,
              const PairSpoiled& spoiled)
      : options_(options), run_(run), progress_(progress), spoiled_(spoiled), random_(options.seed) {}

  Result<InterleaveResult> Measure() {
    NL_TRY(WarmUp());
    const double expected = options_.iterations > 0 ? static_cast<double>(options_.iterations)
                                                    : options_.budget_s / std::max(pair_s_, 1e-7);
    // From the warm-up alone: it must not depend on how the timed runs turn out.
    out_.group_runs = expected >= kLeastGroups * kGroupRuns ? kGroupRuns : 1;
    SequentialRatio ratio(options_.alpha, expected / static_cast<double>(out_.group_runs),
                          RobustSpread(warmup_ratios_));
    if (spoiled_) spoiled_(false);
    start_ = std::chrono::steady_clock::now();
    size_t next_look = 4;
    for (;;) {
      NL_TRY(OneGroup(ratio));
      const bool last = IsLast();
      if (last || ratio.pairs() >= next_look) {
        next_look = static_cast<size_t>(static_cast<double>(ratio.pairs()) * kLookEvery) + 1;
        out_.estimate = ratio.Now();
        const bool narrow = options_.iterations == 0 && HalfWidth(out_.estimate) <= options_.precision;
        if (last || narrow) {
          if (narrow) out_.stopped_by = StopReason::kPrecision;
          break;
        }
      }
      if (progress_) progress_(Share());
    }
    out_.timed_s = SinceS(start_);
    if (out_.a_s.empty()) return AllRejected();
    out_.verdict = Judge(out_.estimate, options_.margin);
    if (out_.verdict == Verdict::kUndecided) out_.budget_needed_s = BudgetNeeded();
    return std::move(out_);
  }

 private:
  Result<double> Time(Side side, bool timed) {
    NL_ASSIGN(const double seconds, run_(side, timed));
    return std::max(seconds, kLeastSeconds);
  }

  // The first run fills caches and is slow; the others give the spread and the time of a pair.
  Status WarmUp() {
    const auto start = std::chrono::steady_clock::now();
    for (int64_t i = 0; i < options_.warmup; ++i) {
      const auto pair_start = std::chrono::steady_clock::now();
      const bool a_first = random_.Below(2) == 0;
      NL_ASSIGN(const double first, Time(a_first ? Side::kA : Side::kB, false));
      NL_ASSIGN(const double second, Time(a_first ? Side::kB : Side::kA, false));
      ++out_.warmup_runs;
      // The shortest: one interrupted pair must not make the budget look small.
      pair_s_ = i == 0 ? SinceS(pair_start) : std::min(pair_s_, SinceS(pair_start));
      if (i > 0) warmup_ratios_.push_back(a_first ? std::log(first / second) : std::log(second / first));
      if (SinceS(start) > options_.warmup_share * options_.budget_s) break;
    }
    return {};
  }

  // One coin for the whole group: it swaps A and B in all of it.
  Status OneGroup(SequentialRatio& ratio) {
    bool a_first = random_.Below(2) == 0;
    double shortest_a = std::numeric_limits<double>::infinity();
    double shortest_b = shortest_a;
    for (int64_t i = 0; i < out_.group_runs && (i == 0 || !AllIterations()); ++i, a_first = !a_first) {
      NL_ASSIGN(const double first, Time(a_first ? Side::kA : Side::kB, true));
      NL_ASSIGN(const double second, Time(a_first ? Side::kB : Side::kA, true));
      if (spoiled_ && spoiled_(true)) {
        ++out_.rejected_pairs;
        continue;
      }
      out_.a_s.push_back(a_first ? first : second);
      out_.b_s.push_back(a_first ? second : first);
      shortest_a = std::min(shortest_a, out_.a_s.back());
      shortest_b = std::min(shortest_b, out_.b_s.back());
    }
    if (std::isfinite(shortest_a)) ratio.Add(std::log(shortest_a / shortest_b));
    if (TooManyRejected()) return AllRejected();
    return {};
  }

  // Slow pairs end by time: the budget is not spent again and again.
  bool TooManyRejected() const {
    const auto counted = static_cast<int64_t>(out_.a_s.size());
    const bool late = options_.iterations == 0 && SinceS(start_) > kLateBudgets * options_.budget_s;
    return out_.rejected_pairs > (late ? 0 : kMostRejected) + 4 * counted;
  }

  Error AllRejected() const {
    return Limit(fmt::format("{} of {} pairs do not count: the GPU was throttled", out_.rejected_pairs,
                             out_.rejected_pairs + static_cast<int64_t>(out_.a_s.size())))
        .Hint("let it cool down, lower its clock with --lock-clocks, or check its power supply");
  }

  bool AllIterations() const {
    return options_.iterations > 0 && static_cast<int64_t>(out_.a_s.size()) >= options_.iterations;
  }

  bool IsLast() {
    if (options_.iterations > 0) {
      out_.stopped_by = StopReason::kIterations;
      return AllIterations();
    }
    const auto pairs = static_cast<int64_t>(out_.a_s.size());
    const auto all = static_cast<double>(pairs + out_.rejected_pairs);
    // A pair that would end after the budget is not begun.
    return pairs >= options_.least_pairs && SinceS(start_) * (1 + 1 / all) > options_.budget_s;
  }

  double Share() const {
    if (options_.iterations > 0)
      return static_cast<double>(out_.a_s.size()) / static_cast<double>(options_.iterations);
    return std::min(1.0, SinceS(start_) / options_.budget_s);
  }

  // The interval narrows with the root of the time. Unknown while it has no ends.
  std::optional<double> BudgetNeeded() const {
    const double half = HalfWidth(out_.estimate);
    if (!std::isfinite(half)) return std::nullopt;
    const double distance = std::max(std::fabs(out_.estimate.log_ratio), 0.0);
    const double margin = std::log1p(options_.margin);
    const double target = std::max(distance, margin - distance);
    const double times = half / std::max(target, margin / 4);
    return out_.timed_s * std::max(1.2, times * times);
  }

  const InterleaveOptions& options_;
  const RunSide& run_;
  const OnProgress& progress_;
  const PairSpoiled& spoiled_;
  SeededRandom random_;
  InterleaveResult out_;
  std::vector<double> warmup_ratios_;
  double pair_s_ = 0;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace

std::span<const std::string_view> NamesOf(StopReason) {
  static constexpr std::string_view kNames[] = {"precision", "budget", "iterations"};
  return kNames;
}

std::span<const std::string_view> NamesOf(Verdict) {
  static constexpr std::string_view kNames[] = {"faster", "slower", "same", "undecided"};
  return kNames;
}
std::optional<bool> IsFaster(Verdict verdict) {
  if (verdict == Verdict::kFaster) return true;
  if (verdict == Verdict::kSlower) return false;
  return std::nullopt;
}

std::string_view Name(Verdict verdict) { return NamesOf(verdict)[static_cast<size_t>(verdict)]; }

Result<InterleaveResult> Interleave(const InterleaveOptions& options, const RunSide& run,
                                    const OnProgress& progress, const PairSpoiled& spoiled) {
  return Measurement(options, run, progress, spoiled).Measure();
}

TimeSummary SummaryOf(std::vector<double> seconds) {
  TimeSummary out;
  if (seconds.empty()) return out;
  out.runs = static_cast<int64_t>(seconds.size());
  std::sort(seconds.begin(), seconds.end());
  // Between two ranks, linear.
  const auto quantile = [&](double share) {
    const double at = share * static_cast<double>(seconds.size() - 1);
    const auto below = static_cast<size_t>(at);
    const size_t above = std::min(below + 1, seconds.size() - 1);
    return 1e3 * (seconds[below] + (at - static_cast<double>(below)) * (seconds[above] - seconds[below]));
  };
  out.mean_ms =
      1e3 * std::accumulate(seconds.begin(), seconds.end(), 0.0) / static_cast<double>(seconds.size());
  out.median_ms = quantile(0.5);
  out.min_ms = 1e3 * seconds.front();
  out.max_ms = 1e3 * seconds.back();
  out.p25_ms = quantile(0.25);
  out.p75_ms = quantile(0.75);
  out.p90_ms = quantile(0.9);
  out.p99_ms = quantile(0.99);
  return out;
}

void Describe(Record<TimeSummary>& r) {
  r.Name("TimeSummary", "Times of one side of a pair");
  r.Field("runs", &TimeSummary::runs, "Timed runs");
  r.Field("median_ms", &TimeSummary::median_ms, Unit::kMs, "Median");
  r.Field("mean_ms", &TimeSummary::mean_ms, Unit::kMs, "Mean");
  r.Field("min_ms", &TimeSummary::min_ms, Unit::kMs, "Shortest run");
  r.Field("p25_ms", &TimeSummary::p25_ms, Unit::kMs, "25 % of the runs are shorter");
  r.Field("p75_ms", &TimeSummary::p75_ms, Unit::kMs, "75 % of the runs are shorter");
  r.Field("p90_ms", &TimeSummary::p90_ms, Unit::kMs, "90 % of the runs are shorter");
  r.Field("p99_ms", &TimeSummary::p99_ms, Unit::kMs, "99 % of the runs are shorter");
  r.Field("max_ms", &TimeSummary::max_ms, Unit::kMs, "Longest run");
}

}  // namespace nl::bench
