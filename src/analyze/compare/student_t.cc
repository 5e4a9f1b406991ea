// SPDX-License-Identifier: Apache-2.0
#include "analyze/compare/student_t.h"

#include <algorithm>
#include <cmath>

namespace nl {

namespace {

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

}  // namespace

double StudentTwoSidedP(double t, double df) {
  if (std::isnan(t) || !(df > 0)) return 1;
  if (std::isinf(t)) return 0;
  if (df > 1e7) return std::erfc(std::fabs(t) / std::sqrt(2.0));
  return std::clamp(IncompleteBeta(df / 2, 0.5, df / (df + t * t)), 0.0, 1.0);
}

double StudentQuantile(double two_sided_p, double df) {
  if (two_sided_p >= 1) return 0;
  double low = 0;
  double high = 1;
  while (high < 1e12 && StudentTwoSidedP(high, df) > two_sided_p) high *= 4;
  for (int i = 0; i < 200 && high - low > 1e-12 * high; ++i) {
    const double middle = (low + high) / 2;
    (StudentTwoSidedP(middle, df) > two_sided_p ? low : high) = middle;
  }
  return (low + high) / 2;
}

double NormalQuantile(double p) {
  const double t = StudentQuantile(2 * std::min(p, 1 - p), 1e9);
  return p < 0.5 ? -t : t;
}

}  // namespace nl
