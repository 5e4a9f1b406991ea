// SPDX-License-Identifier: Apache-2.0
#pragma once
// Student's t and the normal distribution, as far as deciding needs them. Degrees of
// freedom may be fractions (Welch).
// Thread rule: pure functions.

namespace nl {

// Probability of |T| >= |t| with `df` degrees of freedom; 1 for NaN.
double StudentTwoSidedP(double t, double df);
// The t with StudentTwoSidedP(t, df) == p, for p in (0, 1].
double StudentQuantile(double two_sided_p, double df);
// The z with P(Z <= z) == p, for p in (0, 1).
double NormalQuantile(double p);

}  // namespace nl
