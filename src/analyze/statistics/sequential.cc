// SPDX-License-Identifier: Apache-2.0
#include "analyze/statistics/sequential.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analyze/statistics/stats.h"

namespace nl {

namespace {

constexpr double kReach = 1.5;         // robust standard deviations, beyond which a log ratio is clipped
constexpr double kLeastScale = 1e-7;   // of log ratios: below the resolution of any clock
constexpr double kPairVariance = 0.3;  // of the scores, about, with normal noise
constexpr double kTuning = 11.5;       // sum(y^2) * rho^2 where a normal mixture is narrowest, for alpha 1 %
constexpr double kWidest = 20;         // log ratio beyond which nothing is searched
constexpr int kBisections = 40;
// Bets around the size that suits the expected number of pairs, as a normal mixture has them, and a few large
// ones, so that a large difference is found with few pairs.
constexpr int kTunedBets = 12;
constexpr double kTunedWeight = 0.7;
constexpr double kLargestBet = 10;
constexpr double kLargeBets[] = {1, 3, kLargestBet};
constexpr double kSeriesBet = 0.5;  // up to here log cosh is bounded by its series
constexpr size_t kMostPairsExact =
    1000;  // beyond, larger bets are left out, which only makes the test weaker

// log cosh of 0 to the largest bet, between the points of a table on a straight line. It is convex, so the
// line is never below it: the test stays valid.
class LogCoshTable {
 public:
  LogCoshTable() {
    for (size_t i = 0; i < std::size(at_); ++i) {
      const double x = static_cast<double>(i) / kPerUnit;
      at_[i] = x + std::log1p(std::exp(-2 * x)) - 0.6931471805599453;
    }
  }
  // `x` from 0 to kLargest.
  double operator()(double x) const {
    const double place = x * kPerUnit;
    const auto below = static_cast<size_t>(place);
    return at_[below] + (place - static_cast<double>(below)) * (at_[below + 1] - at_[below]);
  }

 private:
  static constexpr double kPerUnit = 128;
  double at_[static_cast<size_t>(kLargestBet * kPerUnit) + 2];
};

}  // namespace

double RobustSpread(std::vector<double> values) {
  if (values.size() < 2) return 0;
  const double centre = Median(values);
  for (double& v : values) v = std::fabs(v - centre);
  return 1.4826 * Median(std::move(values));
}

SequentialRatio::SequentialRatio(double alpha, double expected_pairs, double scale)
    : alpha_(alpha),
      reach_(kReach * std::max(std::isfinite(scale) && scale > 0 ? scale : 0.05, kLeastScale)) {
  // Narrowest at half of what is expected: a look before the end should pay off too.
  const double rho = std::sqrt(kTuning / (kPairVariance * std::clamp(expected_pairs, 16.0, 1e6) / 2));
  double sum = 0;
  for (int i = 1; i <= kTunedBets; ++i) {
    const double x = 0.25 * i;
    bets_.push_back({std::min(rho * x, kLargestBet), std::exp(-x * x / 2)});
    sum += bets_.back().weight;
  }
  for (Bet& bet : bets_) bet.weight *= kTunedWeight / sum;
  for (const double bet : kLargeBets) bets_.push_back({bet, (1 - kTunedWeight) / std::size(kLargeBets)});
}

double SequentialRatio::Pair::Score(double shift) const {
  return std::clamp((log_ratio - shift) / reach, -1.0, 1.0);
}

// Uses earlier pairs only: the clipping of a pair must not depend on its sign.
void SequentialRatio::UpdateReach() {
  if (log_ratios_.size() < next_update_) return;
  next_update_ = log_ratios_.size() + std::max<size_t>(2, log_ratios_.size() / 4);
  const double spread = RobustSpread(log_ratios_);
  if (spread > kLeastScale) reach_ = kReach * spread;
}

void SequentialRatio::Add(double log_ratio) {
  UpdateReach();
  pairs_.push_back({log_ratio, reach_});
  log_ratios_.push_back(log_ratio);
}

double SequentialRatio::SumOfScores(double shift) const {
  double sum = 0;
  for (const Pair& pair : pairs_) sum += pair.Score(shift);
  return sum;
}

double SequentialRatio::LogEvidence(double shift) const {
  static const LogCoshTable log_cosh;
  std::vector<double> scores;
  scores.reserve(pairs_.size());
  double sum = 0;
  double sum2 = 0;
  double sum4 = 0;
  double sum6 = 0;
  for (const Pair& pair : pairs_) {
    const double y = pair.Score(shift);
    const double y2 = y * y;
    scores.push_back(std::fabs(y));
    sum += y;
    sum2 += y2;
    sum4 += y2 * y2;
    sum6 += y2 * y2 * y2;
  }
  double total = 0;
  for (const Bet& bet : bets_) {
    const double l2 = bet.size * bet.size;
    double cost = 0;
    if (bet.size <= kSeriesBet) {
      cost = l2 * sum2 / 2 - l2 * l2 * sum4 / 12 + l2 * l2 * l2 * sum6 / 45;  // at least the sum of log cosh
    } else if (scores.size() <= kMostPairsExact) {
      for (const double y : scores) cost += log_cosh(bet.size * y);
    } else {
      continue;
    }
    // Half of the weight on each sign. The larger exponent is capped: exp() must stay finite.
    const double gain = bet.size * std::fabs(sum);
    total += 0.5 * bet.weight * (std::exp(std::min(gain - cost, 600.0)) + std::exp(-gain - cost));
  }
  return std::log(total);
}

// The end of the interval in the direction of `step`: doubles the distance until the shift is rejected.
double SequentialRatio::Bound(double from, double step) const {
  const double limit = -std::log(alpha_);
  double inside = from;
  double outside = from + step;
  while (LogEvidence(outside) < limit) {
    if (std::fabs(outside - from) > kWidest)
      return std::copysign(std::numeric_limits<double>::infinity(), step);
    inside = outside;
    outside = from + 2 * (outside - from);
  }
  for (int i = 0; i < kBisections && std::fabs(outside - inside) > 1e-4 * std::fabs(outside - from); ++i) {
    const double middle = (inside + outside) / 2;
    (LogEvidence(middle) < limit ? inside : outside) = middle;
  }
  return outside;
}

SequentialEstimate SequentialRatio::Now() const {
  SequentialEstimate out;
  if (pairs_.empty()) {
    out.low = -std::numeric_limits<double>::infinity();
    out.high = -out.low;
    return out;
  }
  // The sum of scores falls with the shift; the estimate is where it is zero, the middle of a flat part.
  const auto [least, most] = std::minmax_element(log_ratios_.begin(), log_ratios_.end());
  const auto cross = [&, low_end = *least - 1e-9, high_end = *most + 1e-9](bool strict) {
    double low = low_end;
    double high = high_end;
    for (int i = 0; i < kBisections; ++i) {
      const double middle = (low + high) / 2;
      const double sum = SumOfScores(middle);
      (strict ? sum > 0 : sum >= 0) ? low = middle : high = middle;
    }
    return (low + high) / 2;
  };
  out.log_ratio = (cross(true) + cross(false)) / 2;
  const double step = std::max(pairs_.back().reach / 64, 1e-8);
  out.low = Bound(out.log_ratio, -step);
  out.high = Bound(out.log_ratio, step);
  out.p_value = PValue();
  return out;
}

double SequentialRatio::PValue() const {
  return pairs_.empty() ? 1 : std::min(1.0, std::exp(-LogEvidence(0)));
}

}  // namespace nl
