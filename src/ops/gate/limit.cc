// SPDX-License-Identifier: Apache-2.0
#include "ops/gate/limit.h"

#include <charconv>

#include <fmt/format.h>

namespace nl::ops::gate {

Result<double> ParseLimit(const std::string& text) {
  std::string number = text;
  const bool percent = !number.empty() && number.back() == '%';
  if (percent) number.pop_back();
  while (!number.empty() && number.back() == ' ') number.pop_back();
  double value = 0;
  const char* end = number.data() + number.size();
  const auto [stop, error] = std::from_chars(number.data(), end, value);
  if (percent) value /= 100;
  // A bare 2 could mean 2 % or 200 %: it is refused rather than guessed.
  if (error != std::errc() || stop != end || !(value > 0) || !(value < 1)) {
    return InvalidInput(fmt::format("--max-regression: '{}' is not a share above 0 and below 100 %", text))
        .Hint("write 2% or 0.02");
  }
  return value;
}

}  // namespace nl::ops::gate
