// SPDX-License-Identifier: Apache-2.0
#include "base/quantity.h"

#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace nl {

namespace {

// The number before `unit`, blanks between them allowed.
std::optional<double> NumberBefore(std::string_view text, std::string_view unit) {
  if (text.size() < unit.size() || text.substr(text.size() - unit.size()) != unit) return std::nullopt;
  text.remove_suffix(unit.size());
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

Result<double> ParseShare(const std::string& name, const std::string& text, const std::string& example) {
  std::optional<double> value = NumberBefore(text, "%");
  if (value) {
    *value /= 100;
  } else {
    value = NumberBefore(text, "");
  }
  // A bare 2 could mean 2 % or 200 %: it is refused rather than guessed.
  if (!value || !(*value > 0) || !(*value < 1)) {
    return InvalidInput(fmt::format("{}: '{}' is not a share above 0 and below 100 %", name, text))
        .Hint(fmt::format("write {}", example));
  }
  return *value;
}

Result<double> ParseSeconds(const std::string& name, const std::string& text) {
  static constexpr std::pair<std::string_view, double> kUnits[] = {{"ms", 1e-3}, {"min", 60}, {"h", 3600},
                                                                   {"s", 1},     {"m", 60},   {"", 1}};
  for (const auto& [unit, seconds] : kUnits) {
    const std::optional<double> value = NumberBefore(text, unit);
    if (value && *value > 0 && *value * seconds < 1e9) return *value * seconds;
  }
  return InvalidInput(fmt::format("{}: '{}' is not a duration above 0", name, text))
      .Hint("write 20s, 500ms or 2min");
}

}  // namespace nl
