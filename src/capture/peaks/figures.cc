// SPDX-License-Identifier: Apache-2.0
#include "capture/peaks/figures.h"

#include <algorithm>
#include <cmath>

namespace nl::capture {

namespace {

// Linear between the two nearest ranks; `sorted` is not empty.
double QuantileOf(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(std::floor(at));
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (at - static_cast<double>(below));
}

}  // namespace

std::optional<double> Figure::Spread() const {
  if (!value || !low || !high || *value <= 0) return std::nullopt;
  return (*high - *low) / *value;
}

const Figure* MeasuredDevice::Find(const std::string& figure) const {
  for (const Figure& f : figures) {
    if (f.name == figure) return &f;
  }
  return nullptr;
}

void SetRepeats(Figure& figure, std::vector<double> values) {
  if (values.empty()) return;
  std::sort(values.begin(), values.end());
  figure.value = QuantileOf(values, 0.5);
  figure.low = QuantileOf(values, 0.25);
  figure.high = QuantileOf(values, 0.75);
  figure.repeats = static_cast<int>(values.size());
}

}  // namespace nl::capture
