// SPDX-License-Identifier: Apache-2.0
#include "import/adapters/ncu/metric_value.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

#include "base/ascii.h"

namespace nl::adapters::ncu {

namespace {

struct Word {
  std::string_view written, name;
  int exponent;
};
// Both the short words of this decade (2022 and later) and the long ones before.
constexpr Word kWords[] = {{"ns", "ns", 0},
                           {"nsecond", "ns", 0},
                           {"us", "ns", 3},
                           {"usecond", "ns", 3},
                           {"ms", "ns", 6},
                           {"msecond", "ns", 6},
                           {"s", "ns", 9},
                           {"second", "ns", 9},
                           {"byte", "byte", 0},
                           {"Kbyte", "byte", 3},
                           {"Mbyte", "byte", 6},
                           {"Gbyte", "byte", 9},
                           {"Tbyte", "byte", 12},
                           {"Pbyte", "byte", 15},
                           {"hz", "Hz", 0},
                           {"Hz", "Hz", 0},
                           {"Khz", "Hz", 3},
                           {"Mhz", "Hz", 6},
                           {"Ghz", "Hz", 9},
                           {"Thz", "Hz", 12},
                           {"cycle/second", "Hz", 0},
                           {"cycle/usecond", "Hz", 6},
                           {"cycle/nsecond", "Hz", 9}};

const Word* Find(std::string_view written) {
  for (const Word& word : kWords) {
    if (word.written == written) return &word;
  }
  return nullptr;
}

constexpr double kTens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                            1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
constexpr int kMaxTen = 22;  // the largest power that a double holds exactly
constexpr uint64_t kMaxExact = uint64_t{1} << 53;

// Through decimal text, which rounds once.
std::optional<double> Slowly(const std::string& digits, int exponent) {
  double value = 0;
  const std::string text = digits + "e" + std::to_string(exponent);
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace

Unit ParseUnit(std::string_view written) {
  if (const Word* word = Find(written)) return {std::string(word->name), word->exponent};
  const size_t slash = written.find('/');
  if (slash == std::string_view::npos) return {std::string(written), 0};
  const std::string_view above = written.substr(0, slash), below = written.substr(slash + 1);
  const Word *top = Find(above), *per = Find(below);
  Unit unit;
  unit.name = top != nullptr ? std::string(top->name) : std::string(above);
  unit.exponent = top != nullptr ? top->exponent : 0;
  if (per != nullptr && per->name == "ns") {
    unit.exponent += 9 - per->exponent;
    unit.name += "/s";
  } else {
    unit.name += "/" + std::string(below);
  }
  return unit;
}

std::optional<double> ParseNumber(std::string_view text, int exponent) {
  const char *at = text.data(), *end = at + text.size();
  const bool negative = at < end && *at == '-';
  at += negative;
  uint64_t digits = 0;
  int count = 0, decimals = 0, since_comma = -1;
  const char* first = at;
  for (; at < end; ++at) {
    if (IsDigit(*at)) {
      if (++count <= 18) digits = digits * 10 + static_cast<uint64_t>(*at - '0');
      since_comma += since_comma >= 0;
      continue;
    }
    if (*at != ',') break;
    // A group of one to three digits in front, then three each.
    if (since_comma < 0 ? at == first || at - first > 3 : since_comma != 3) return std::nullopt;
    since_comma = 0;
  }
  if (since_comma >= 0 && since_comma != 3) return std::nullopt;
  if (at < end && *at == '.') {
    for (++at; at < end && IsDigit(*at); ++at) {
      if (++count <= 18) digits = digits * 10 + static_cast<uint64_t>(*at - '0');
      ++decimals;
    }
  }
  if (count == 0) return std::nullopt;
  int written_exponent = 0;
  if (at < end && (*at == 'e' || *at == 'E')) {
    ++at;
    at += at < end && *at == '+';
    const auto [stop, code] = std::from_chars(at, end, written_exponent);
    if (code != std::errc() || std::abs(written_exponent) > 400) return std::nullopt;
    at = stop;
  }
  if (at != end) return std::nullopt;
  const int power = exponent + written_exponent - decimals;
  if (count <= 18 && digits < kMaxExact && power <= kMaxTen && power >= -kMaxTen) {
    const auto exact = static_cast<double>(digits);
    const double value = power >= 0 ? exact * kTens[power] : exact / kTens[-power];
    return negative ? -value : value;
  }
  std::string plain = negative ? "-" : "";
  for (const char c : text.substr(negative)) {
    if (c == 'e' || c == 'E') break;
    if (IsDigit(c)) plain += c;
  }
  return Slowly(plain, power);
}

std::optional<int64_t> ParseWhole(std::string_view text) {
  int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool ParseSize(std::string_view text, int32_t (&to)[3]) {
  if (text.starts_with('(') && text.ends_with(')')) text = text.substr(1, text.size() - 2);
  const char *at = text.data(), *end = at + text.size();
  for (int i = 0; i < 3; ++i) {
    while (i > 0 && at < end && (*at == ',' || *at == ' ' || *at == 'x')) ++at;
    const auto [stop, code] = std::from_chars(at, end, to[i]);
    if (code != std::errc() || to[i] < 0) return false;
    at = stop;
  }
  return at == end;
}

}  // namespace nl::adapters::ncu
