// SPDX-License-Identifier: Apache-2.0
#pragma once
// Student's t and the normal distribution, as far as deciding needs them. Degrees of
// freedom may be fractions (Welch).
// Thread rule: pure functions.

#include <span>

namespace nl {

// Probability of |T| >= |t| with `df` degrees of freedom; 1 for NaN.
double StudentTwoSidedP(double t, double df);
// The t with StudentTwoSidedP(t, df) == p, for p in (0, 1].
double StudentQuantile(double two_sided_p, double df);
// The z with P(Z <= z) == p, for p in (0, 1).
double NormalQuantile(double p);

// How much farther out than Student's t a reference distribution goes, on each side; 1 at least.
struct TailStretch {
  double below = 1, above = 1;
};
// Asked where Student's t leaves 5 % outside. `reference` is sorted and not empty.
TailStretch MeasureTailStretch(std::span<const double> reference, double df);

}  // namespace nl
