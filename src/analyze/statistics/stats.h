// SPDX-License-Identifier: Apache-2.0
#pragma once
// The statistics of comparing: when a difference of measured times is real, when two
// things are shown to be the same, and when there is too little to say either. Plain
// numbers in and out; larger means worse (the caller flips what is better larger).
// Every answer is a function of its input and a seed: no clock, no random device.
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

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();  // cannot be known
inline constexpr uint64_t kStatsSeed = 0x6e6c656e73;  // when the caller has no reason for another

// Benjamini-Hochberg q-values, in the order of `p`: taking every q <= x as a discovery keeps the
// expected share of false ones at x. NaN in gives NaN out and does not count as a test.
std::vector<double> BenjaminiHochberg(std::span<const double> p);

// same: shown to lie inside the margin. undecided: neither a change nor equivalence is shown.
enum class VerdictClass { kRegressed, kImproved, kSame, kUndecided };
std::string_view VerdictName(VerdictClass verdict);  // regressed, improved, same, undecided

struct SignificanceOptions {
  double equivalence_margin = 0.01;  // relative: 0.01 is 1 %
  double alpha = 0.01;               // two-sided; also 1 - level of the interval
  bool paired = false;               // a[i] and b[i] were measured together (interleaved runs)
  uint64_t seed = kStatsSeed;
};

// Relative change is b/a - 1. Numbers that cannot be known are NaN (ratio of a base of zero,
// interval of a single run); `reason` then says why.
struct Significance {
  VerdictClass verdict = VerdictClass::kUndecided;
  double ratio = 0;   // location of b over location of a
  double ci_low = 0;  // of the relative change, at level 1 - alpha
  double ci_high = 0;
  double p_value = 1;     // of no difference at all
  double confidence = 0;  // 1 - p of the claim made: difference, or equivalence; of the better when undecided
  // Runs to add on each side until the change seen (or the margin, when it is smaller) would be
  // decided nine times in ten with the spread seen; empty when decided.
  std::optional<int64_t> more_runs_needed;
  double autocorrelation =
      0;  // lag 1 of the runs in the order given, what widened the interval; 0: none seen
  int64_t count_a = 0, count_b = 0;  // finite values used
  std::string reason;                // why there is no verdict, or what is odd; empty: nothing to say
};

// Two samples of one metric, one value a run, each side in the order the runs were made. One run
// on a side is always undecided. Values that are not finite are left out and told in `reason`.
Significance TestSignificance(std::span<const double> a, std::span<const double> b,
                              const SignificanceOptions& options = {});

// How the cost of one group of work changed from run A to run B, from its cost in each step.
struct GroupDelta {
  double mean_a = 0, mean_b = 0;
  double delta = 0;                // mean_b - mean_a, in the unit of the input
  double ci_low = 0, ci_high = 0;  // of delta, at 99 %; NaN when there are too few steps
  double p_value = 1;              // of no difference; 1 when there are too few steps
  int64_t block_length = 1;        // steps that hang together, chosen from the data
  bool paired = false;             // both sides had the same number of steps: differences step by step
  bool assessed = false;           // enough steps on both sides
};

// Moving-block bootstrap of the mean difference: steps of one run follow one another and are not
// independent. Same number of steps on both sides: step i of A is held against step i of B, which
// takes what grows with the step (a longer KV cache) out of the noise.
GroupDelta PairedSteps(std::span<const double> a, std::span<const double> b, uint64_t seed = kStatsSeed);

// The scale that takes the durations `a` to `b`, from matched pieces of unchanged work: the median of
// b/a weighted by sqrt(a*b), which neither many tiny pieces nor a few changed ones can move.
struct ScaleEstimate {
  double scale = 1;
  double spread = 0;               // robust standard deviation of log(b/a): 1.4826 x weighted MAD
  double ci_low = 1, ci_high = 1;  // of scale, 99 %, order statistics of the weighted median
  int64_t pairs = 0;               // with both sides finite and above zero; 0: nothing known, scale 1
};
ScaleEstimate RobustScale(std::span<const double> a, std::span<const double> b);

}  // namespace nl
