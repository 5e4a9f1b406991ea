// SPDX-License-Identifier: Apache-2.0
#include "analyze/statistics/student_t.h"

#include <algorithm>
#include <cmath>

namespace nl {

namespace {

constexpr double kNormalFrom = 1e7;  // degrees of freedom from which t equals the normal to all digits used

// Continued fraction of the incomplete beta function, by Lentz's method; converges fast for
// x < (a + 1) / (a + b + 2).
double BetaFraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  const auto away_from_zero = [](double v) { return std::fabs(v) < kTiny ? kTiny : v; };
  double c = 1;
  double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
  double value = d;
  for (int m = 1; m <= 500; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_zero(1 + even * d);
    c = away_from_zero(1 + even / c);
    value *= c * d;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_zero(1 + odd * d);
    c = away_from_zero(1 + odd / c);
    value *= c * d;
    if (std::fabs(c * d - 1) < 1e-15) break;
  }
  return value;
}

double IncompleteBeta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * BetaFraction(a, b, x) / a;
  return 1 - front * BetaFraction(b, a, 1 - x) / b;
}

// Of |T| at t.
double TwoSidedDensity(double t, double df) {
  constexpr double kPi = 3.141592653589793;
  if (df > kNormalFrom) return std::sqrt(2 / kPi) * std::exp(-t * t / 2);
  const double constant = std::exp(std::lgamma((df + 1) / 2) - std::lgamma(df / 2)) / std::sqrt(df * kPi);
  return 2 * constant * std::exp(-(df + 1) / 2 * std::log1p(t * t / df));
}

}  // namespace

double StudentTwoSidedP(double t, double df) {
  if (std::isnan(t) || !(df > 0)) return 1;
  if (std::isinf(t)) return 0;
  if (df > kNormalFrom) return std::erfc(std::fabs(t) / std::sqrt(2.0));
  return std::clamp(IncompleteBeta(df / 2, 0.5, df / (df + t * t)), 0.0, 1.0);
}

double StudentQuantile(double two_sided_p, double df) {
  if (two_sided_p >= 1 || !(df > 0)) return 0;
  double low = 0;
  double high = 1;
  while (high < 1e300 && StudentTwoSidedP(high, df) > two_sided_p) {
    low = high;
    high *= 4;
  }
  // Newton's step on log P, which is concave in t; a bisection where it would leave the bracket.
  double at = (low + high) / 2;
  for (int i = 0; i < 200 && high - low > 1e-13 * high; ++i) {
    const double p = StudentTwoSidedP(at, df);
    (p > two_sided_p ? low : high) = at;
    const double step = p > 0 ? (std::log(two_sided_p) - std::log(p)) * p / -TwoSidedDensity(at, df) : 0;
    if (std::fabs(step) < 1e-14 * at) break;
    at = at + step > low && at + step < high ? at + step : (low + high) / 2;
  }
  return at;
}

double NormalQuantile(double p) {
  const double t = StudentQuantile(2 * std::min(p, 1 - p), 1e9);
  return p < 0.5 ? -t : t;
}

TailStretch MeasureTailStretch(std::span<const double> reference, double df) {
  constexpr double kOutside = 0.05;
  const size_t out = static_cast<size_t>(kOutside / 2 * static_cast<double>(reference.size()));
  const double expected = StudentQuantile(kOutside, df);
  return {std::max(1.0, -reference[out] / expected),
          std::max(1.0, reference[reference.size() - 1 - out] / expected)};
}

}  // namespace nl
