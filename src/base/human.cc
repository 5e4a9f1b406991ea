// SPDX-License-Identifier: Apache-2.0
#include "base/human.h"

#include <cmath>

#include <fmt/format.h>

namespace nl {

namespace {

// Magnitude without overflow for INT64_MIN.
uint64_t Magnitude(int64_t value) {
  return value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
}

std::string ScaledDuration(double ns) {
  // 999.95 would be printed as 1000.0: the next unit begins there.
  constexpr double kRollover = 999.95;
  if (ns < 999.5) return fmt::format("{:.0f} ns", ns);
  if (ns / 1e3 < kRollover) return fmt::format("{:.1f} µs", ns / 1e3);
  if (ns / 1e6 < kRollover) return fmt::format("{:.1f} ms", ns / 1e6);
  if (ns / 1e9 < 59.995) return fmt::format("{:.2f} s", ns / 1e9);
  if (ns / 1e9 > 9e15) return fmt::format("{:.3g} s", ns / 1e9);
  const auto seconds = static_cast<uint64_t>(std::llround(ns / 1e9));
  if (seconds < 3600) return fmt::format("{} min {:02} s", seconds / 60, seconds % 60);
  const uint64_t minutes = (seconds + 30) / 60;
  return fmt::format("{} h {:02} min", minutes / 60, minutes % 60);
}

}  // namespace

std::string HumanBytes(int64_t bytes) {
  const char* sign = bytes < 0 ? "-" : "";
  const uint64_t magnitude = Magnitude(bytes);
  if (magnitude < 1000) return fmt::format("{}{} B", sign, magnitude);
  static constexpr const char* kUnits[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
  double value = static_cast<double>(magnitude) / 1e3;
  size_t unit = 0;
  while (value >= 999.95) {
    value /= 1e3;
    ++unit;
  }
  return fmt::format("{}{:.1f} {}", sign, value, kUnits[unit]);
}

std::string HumanDurationNs(int64_t ns) {
  return (ns < 0 ? "-" : "") + ScaledDuration(static_cast<double>(Magnitude(ns)));
}

std::string HumanMs(double ms) {
  if (!std::isfinite(ms)) return "-";
  return (ms < 0 ? "-" : "") + ScaledDuration(std::fabs(ms) * 1e6);
}

std::string HumanCount(int64_t count) {
  std::string digits = fmt::format("{}", Magnitude(count));
  for (size_t i = digits.size(); i > 3;) digits.insert(i -= 3, ",");
  return count < 0 ? "-" + digits : digits;
}

std::string HumanPercent(double part, double whole) {
  const double percent = 100 * part / whole;
  return std::isfinite(percent) ? fmt::format("{:.1f} %", percent) : "-";
}

}  // namespace nl
