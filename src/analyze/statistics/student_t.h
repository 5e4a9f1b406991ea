// SPDX-License-Identifier: Apache-2.0
#pragma once
// Student's t and the normal distribution. Degrees of freedom may be fractional (Welch).
// Thread rule: pure functions.

#include <span>

namespace nl {

// Probability of |T| >= |t| with `df` degrees of freedom; 1 for NaN.
double StudentTwoSidedP(double t, double df);
// The t with StudentTwoSidedP(t, df) == p, for p in (0, 1].
double StudentQuantile(double two_sided_p, double df);
// The z with P(Z <= z) == p, for p in (0, 1).
double NormalQuantile(double p);

// How much heavier than Student's t the tails of a reference distribution are; at least 1.
struct TailStretch {
  double below = 1, above = 1;
};
// Measured where 5 % of Student's t lies outside. `reference` is sorted and not empty.
TailStretch MeasureTailStretch(std::span<const double> reference, double df);

}  // namespace nl
