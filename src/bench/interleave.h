// SPDX-License-Identifier: Apache-2.0
#pragma once
// Interleave: measures two things in pairs whose order a fair coin decides, so that drift and load hit both,
// until the interval of the ratio is narrow enough or a limit is reached. It knows nothing of what it runs.
// Where many runs fit, four pairs in the order ABBAABBA or BAABBAAB are one group, whose shortest run of each
// side counts: other programs only ever make a run longer.
//
// Thread rule: one thread. Ownership: plain values.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "analyze/statistics/sequential.h"
#include "base/record.h"
#include "base/result.h"

namespace nl::bench {

enum class Side : uint8_t { kA, kB };

enum class StopReason : uint8_t { kPrecision, kBudget, kIterations };
std::span<const std::string_view> NamesOf(StopReason);

// faster, slower: the interval leaves out "no difference". same: it lies inside the margin. undecided:
// neither.
enum class Verdict : uint8_t { kFaster, kSlower, kSame, kUndecided };
std::span<const std::string_view> NamesOf(Verdict);
std::string_view Name(Verdict verdict);
// Whether B is faster than A; none where that was not decided.
std::optional<bool> IsFaster(Verdict verdict);

struct InterleaveOptions {
  double precision = 0.005;   // half of the interval of the ratio, relative, at which to stop
  double margin = 0.01;       // relative difference below which both sides count as the same
  double alpha = 0.01;        // 1 - level of the interval; also the rate of false verdicts
  double budget_s = 20;       // of timed runs
  int64_t least_pairs = 0;    // are measured whatever the budget
  int64_t iterations = 0;     // on each side, exactly; 0: by precision and budget
  int64_t warmup = 5;         // runs on each side that are not counted
  double warmup_share = 0.3;  // of the budget that the warm-up may take, but for its first run
  uint64_t seed = 0;          // of the order
};

struct InterleaveResult {
  std::vector<double> a_s, b_s;  // run i of one was measured beside run i of the other
  SequentialEstimate estimate;
  Verdict verdict = Verdict::kUndecided;
  StopReason stopped_by = StopReason::kBudget;
  int64_t warmup_runs = 0;     // on each side
  int64_t group_runs = 1;      // of each side, of which the shortest counts
  int64_t rejected_pairs = 0;  // measured and not counted: `spoiled` said so
  double timed_s = 0;          // all timed runs, with the time between them
  // Undecided: about what the runs would have to take until the margin can be decided.
  std::optional<double> budget_needed_s;
};

// Seconds of one run of a side. An error ends the measurement.
using RunSide = std::function<Result<double>(Side side, bool timed)>;
// After every pair: what was done, as a share of what is allowed.
using OnProgress = std::function<void(double share)>;

// After every timed pair: whether something from outside disturbed it (a throttled GPU), so that it does not
// count. It must not depend on which side ran first. Also asked once after the warm-up, with `timed` false,
// so that what happened before is not held against the first pair. Interleave is Limit when nearly all are
// disturbed.
using PairSpoiled = std::function<bool(bool timed)>;

Result<InterleaveResult> Interleave(const InterleaveOptions& options, const RunSide& run,
                                    const OnProgress& progress = {}, const PairSpoiled& spoiled = {});

// Median, mean and quantiles of one side.
struct TimeSummary {
  int64_t runs = 0;
  double median_ms = 0, mean_ms = 0, min_ms = 0, p25_ms = 0, p75_ms = 0, p90_ms = 0, p99_ms = 0, max_ms = 0;
};
void Describe(Record<TimeSummary>& r);
TimeSummary SummaryOf(std::vector<double> seconds);

}  // namespace nl::bench
