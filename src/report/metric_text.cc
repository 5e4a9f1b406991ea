// SPDX-License-Identifier: Apache-2.0
#include "report/metric_text.h"

#include <cmath>

#include <fmt/format.h>

#include "base/human.h"

namespace nl {

std::string MetricText(std::optional<double> value, const std::string& unit) {
  if (!value) return "-";
  const double v = *value;
  if (unit == "bytes") return HumanBytes(static_cast<int64_t>(v));
  if (unit == "share") return HumanPercent(v, 1);
  if (unit != "ms") return fmt::format("{:.4g} {}", v, unit);
  // HumanMs has one decimal, which hides a change of 1 %.
  const double size = std::fabs(v);
  if (size >= 10'000) return fmt::format("{:.2f} s", v / 1000);
  if (size >= 100 || size == 0) return fmt::format("{:.1f} ms", v);
  if (size >= 10) return fmt::format("{:.2f} ms", v);
  return size >= 0.1 ? fmt::format("{:.3f} ms", v) : fmt::format("{:.4g} us", v * 1000);
}

}  // namespace nl
