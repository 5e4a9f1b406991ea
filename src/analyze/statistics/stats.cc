// SPDX-License-Identifier: Apache-2.0
#include "analyze/statistics/stats.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "analyze/statistics/student_t.h"

namespace nl {

std::span<const std::string_view> NamesOf(VerdictClass) {
  static constexpr std::array<std::string_view, 4> kNames = {"regressed", "improved", "same", "undecided"};
  return kNames;
}

std::string_view VerdictName(VerdictClass verdict) { return NamesOf(verdict)[static_cast<size_t>(verdict)]; }

double Median(std::vector<double> values) {
  if (values.empty()) return kNan;
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

std::vector<double> BenjaminiHochberg(std::span<const double> p) {
  std::vector<double> q(p.begin(), p.end());
  std::vector<size_t> order;
  for (size_t i = 0; i < p.size(); ++i) {
    if (!std::isnan(p[i])) order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return p[a] < p[b]; });
  double smallest = 1;
  for (size_t rank = order.size(); rank > 0; --rank) {
    const size_t i = order[rank - 1];
    smallest = std::min(smallest, p[i] * static_cast<double>(order.size()) / static_cast<double>(rank));
    q[i] = smallest;
  }
  return q;
}

namespace {

struct Weighted {
  double value, weight;
};

// The value with `share` of the weight below it; between two values, their mean.
double WeightedQuantile(const std::vector<Weighted>& sorted, double total, double share) {
  const double target = share * total;
  double below = 0;
  for (size_t i = 0; i < sorted.size(); ++i) {
    below += sorted[i].weight;
    const bool tie = std::fabs(below - target) <= 1e-12 * total && i + 1 < sorted.size();
    if (tie) return (sorted[i].value + sorted[i + 1].value) / 2;
    if (below > target) return sorted[i].value;
  }
  return sorted.back().value;
}

void SortByValue(std::vector<Weighted>& v) {
  std::sort(v.begin(), v.end(), [](const Weighted& a, const Weighted& b) { return a.value < b.value; });
}

}  // namespace

ScaleEstimate RobustScale(std::span<const double> a, std::span<const double> b) {
  ScaleEstimate out;
  std::vector<Weighted> logs;
  logs.reserve(std::min(a.size(), b.size()));
  double total = 0;
  double squares = 0;
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (!std::isfinite(a[i]) || !std::isfinite(b[i]) || a[i] <= 0 || b[i] <= 0) continue;
    const double weight = std::sqrt(a[i]) * std::sqrt(b[i]);
    logs.push_back({std::log(b[i]) - std::log(a[i]), weight});
    total += weight;
    squares += weight * weight;
  }
  out.pairs = static_cast<int64_t>(logs.size());
  if (logs.empty() || !std::isfinite(squares) || !(squares > 0)) return out;
  SortByValue(logs);
  const double middle = WeightedQuantile(logs, total, 0.5);
  out.scale = std::exp(middle);
  // The weight below the median is a sum of n fair coin flips; unequal weights count as fewer flips.
  const double coins = total * total / squares;
  const double half = 0.5 * NormalQuantile(0.995) / std::sqrt(coins);
  out.ci_low = std::exp(WeightedQuantile(logs, total, std::max(0.0, 0.5 - half)));
  out.ci_high = std::exp(WeightedQuantile(logs, total, std::min(1.0, 0.5 + half)));
  for (Weighted& w : logs) w.value = std::fabs(w.value - middle);
  SortByValue(logs);
  out.spread = 1.4826 * WeightedQuantile(logs, total, 0.5);
  return out;
}

}  // namespace nl
