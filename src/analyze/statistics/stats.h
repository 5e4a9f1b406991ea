// SPDX-License-Identifier: Apache-2.0
#pragma once
// The statistics of comparisons: when a difference between measured times is real, when two
// samples are shown to be equivalent, and when the data do not suffice for either. Larger
// values mean worse (the caller inverts metrics where larger is better).
// Every result is a function of the input and a seed: no clock, no random device.
// docs/statistics.md gives the choice of each estimator and its measured error rates.
// Thread rule: pure functions.

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nl {

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();  // unknown
inline constexpr uint64_t kStatsSeed = 0x6e6c656e73;                      // default
inline constexpr int64_t kMostRunsNeeded = 100'000;  // more runs than this are not the answer

// Of an even number of values the mean of the middle two; NaN of none.
double Median(std::vector<double> values);

// Benjamini-Hochberg q-values, in the order of `p`: accepting every q <= x keeps the expected share
// of false discoveries at x. NaN stays NaN and does not count as a test.
std::vector<double> BenjaminiHochberg(std::span<const double> p);

// same: shown to lie inside the margin. undecided: neither a change nor equivalence is shown.
enum class VerdictClass { kRegressed, kImproved, kSame, kUndecided };
std::string_view VerdictName(VerdictClass verdict);  // regressed, improved, same, undecided
std::span<const std::string_view> NamesOf(VerdictClass);

struct SignificanceOptions {
  double equivalence_margin = 0.01;  // relative: 0.01 is 1 %
  double alpha = 0.01;               // two-sided; also 1 - level of the interval
  bool paired = false;               // a[i] and b[i] were measured together (interleaved runs)
  uint64_t seed = kStatsSeed;
};

// Relative change is b/a - 1. Unknown numbers are NaN (ratio to a base of zero, interval of a
// single run); `reason` has the cause.
struct Significance {
  VerdictClass verdict = VerdictClass::kUndecided;
  double ratio = 0;   // location of b over location of a
  double ci_low = 0;  // of the relative change, at level 1 - alpha
  double ci_high = 0;
  double p_value = 1;  // of no difference at all
  double confidence =
      0;  // 1 - p of the claim (difference or equivalence); of the stronger one when undecided
  // Runs to add on each side until the observed change (or the margin, if smaller) would be decided
  // in nine of ten cases with the observed spread; empty when decided.
  std::optional<int64_t> more_runs_needed;
  double autocorrelation = 0;  // lag 1, of the runs in the order given; it widened the interval; 0: none
  int64_t count_a = 0, count_b = 0;  // finite values used
  std::string reason;                // why there is no verdict, or what is unusual; may be empty
};

// Two samples of one metric, one value a run, each side in the order the runs were made. One run
// on a side is always undecided. Values that are not finite are left out and counted in `reason`.
Significance TestSignificance(std::span<const double> a, std::span<const double> b,
                              const SignificanceOptions& options = {});

// How the cost of one group of work changed from run A to run B, from its cost in each step.
struct GroupDelta {
  double mean_a = 0, mean_b = 0;
  double delta = 0;                // mean_b - mean_a, in the unit of the input
  double ci_low = 0, ci_high = 0;  // of delta, at 99 %; NaN when there are too few steps
  double p_value = 1;              // of no difference; 1 when there are too few steps
  int64_t block_length = 1;        // consecutive steps that are correlated, estimated from the data
  bool paired = false;             // both sides had the same number of steps: differences step by step
  bool assessed = false;           // enough steps on both sides
};

// Moving-block bootstrap of the mean difference, since consecutive steps of one run are not
// independent. With the same number of steps on both sides, step i of A is compared with step i of B,
// which removes effects that grow with the step (a longer KV cache) from the noise.
GroupDelta PairedSteps(std::span<const double> a, std::span<const double> b, uint64_t seed = kStatsSeed);

// The factor from durations `a` to `b` of matched unchanged work: the median of b/a weighted by
// sqrt(a*b), which neither many tiny pieces nor a few changed ones can move.
struct ScaleEstimate {
  double scale = 1;
  double spread = 0;               // robust standard deviation of log(b/a): 1.4826 x weighted MAD
  double ci_low = 1, ci_high = 1;  // of scale, 99 %, order statistics of the weighted median
  int64_t pairs = 0;               // with both values finite and above zero; 0: unknown, scale 1
};
ScaleEstimate RobustScale(std::span<const double> a, std::span<const double> b);

}  // namespace nl
