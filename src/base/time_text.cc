// SPDX-License-Identifier: Apache-2.0
#include "base/time_text.h"

#include <charconv>
#include <chrono>
#include <cstddef>
#include <optional>

#include <fmt/format.h>

#include "base/ascii.h"

namespace nl {
namespace {

constexpr int64_t kNsPerSecond = 1'000'000'000;
constexpr int64_t kSecondsPerDay = 86'400;

// Walks over `text` taking fixed-width numbers and separators; a failed take leaves ok() false for good.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  bool ok() const { return ok_; }
  bool AtEnd() const { return rest_.empty(); }
  char Peek() const { return rest_.empty() ? '\0' : rest_.front(); }

  int Number(size_t digits, int low, int high) {
    int value = 0;
    for (size_t i = 0; i < digits; ++i) {
      if (i >= rest_.size() || !IsDigit(rest_[i])) return Fail();
      value = value * 10 + (rest_[i] - '0');
    }
    rest_.remove_prefix(digits);
    return value < low || value > high ? Fail() : value;
  }

  char OneOf(std::string_view allowed) {
    if (rest_.empty() || allowed.find(rest_.front()) == std::string_view::npos) {
      Fail();
      return '\0';
    }
    const char taken = rest_.front();
    rest_.remove_prefix(1);
    return taken;
  }

  // Digits after the point as nanoseconds; those beyond the ninth are below our resolution.
  int64_t FractionNs() {
    if (!IsDigit(Peek())) return Fail();
    int64_t value_ns = 0;
    int64_t weight_ns = kNsPerSecond / 10;
    for (; IsDigit(Peek()); rest_.remove_prefix(1), weight_ns /= 10) value_ns += weight_ns * (Peek() - '0');
    return value_ns;
  }

 private:
  int Fail() {
    ok_ = false;
    return 0;
  }

  std::string_view rest_;
  bool ok_ = true;
};

std::optional<int64_t> ToNs(int64_t seconds, int64_t fraction_ns) {
  // Negative seconds with a positive fraction would overflow one step too early near the lower end.
  if (seconds < 0 && fraction_ns > 0) {
    seconds += 1;
    fraction_ns -= kNsPerSecond;
  }
  int64_t ns = 0;
  if (__builtin_mul_overflow(seconds, kNsPerSecond, &ns)) return std::nullopt;
  if (__builtin_add_overflow(ns, fraction_ns, &ns)) return std::nullopt;
  return ns;
}

// Seconds to subtract for an offset such as +02:00.
int64_t OffsetSeconds(Scanner& scan) {
  const char sign = scan.OneOf("Zz+-");
  if (sign != '+' && sign != '-') return 0;
  const int hours = scan.Number(2, 0, 23);
  scan.OneOf(":");
  const int minutes = scan.Number(2, 0, 59);
  const int64_t seconds = hours * 3600 + minutes * 60;
  return sign == '+' ? seconds : -seconds;
}

std::optional<int64_t> ParseAbsolute(std::string_view text) {
  namespace ch = std::chrono;
  Scanner scan(text);
  const int year = scan.Number(4, 0, 9999);
  scan.OneOf("-");
  const int month = scan.Number(2, 1, 12);
  scan.OneOf("-");
  const int day = scan.Number(2, 1, 31);
  if (!scan.ok()) return std::nullopt;
  const ch::year_month_day date{ch::year(year), ch::month(static_cast<unsigned>(month)),
                                ch::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  int64_t seconds = int64_t{ch::sys_days(date).time_since_epoch().count()} * kSecondsPerDay;
  if (scan.AtEnd()) return ToNs(seconds, 0);

  scan.OneOf("Tt ");
  const int hour = scan.Number(2, 0, 23);
  scan.OneOf(":");
  const int minute = scan.Number(2, 0, 59);
  scan.OneOf(":");
  const int second = scan.Number(2, 0, 60);  // 60: a leap second, which Unix time counts as the next one
  int64_t fraction_ns = 0;
  if (scan.Peek() == '.') {
    scan.OneOf(".");
    fraction_ns = scan.FractionNs();
  }
  seconds += hour * 3600 + minute * 60 + second - OffsetSeconds(scan);
  if (!scan.ok() || !scan.AtEnd()) return std::nullopt;
  return ToNs(seconds, fraction_ns);
}

std::optional<int64_t> UnitSeconds(char unit) {
  switch (unit) {
    case 's': return 1;
    case 'm': return 60;
    case 'h': return 3600;
    case 'd': return kSecondsPerDay;
    case 'w': return 7 * kSecondsPerDay;
    default: return std::nullopt;
  }
}

std::optional<int64_t> ParseAge(std::string_view text, int64_t now_ns) {
  if (text.size() < 2 || !IsDigit(text.front())) return std::nullopt;
  const auto unit_s = UnitSeconds(text.back());
  if (!unit_s) return std::nullopt;
  int64_t count = 0;
  const char* end = text.data() + text.size() - 1;
  const auto [stop, error] = std::from_chars(text.data(), end, count);
  if (error != std::errc() || stop != end) return std::nullopt;
  int64_t age_ns = 0;
  int64_t result_ns = 0;
  if (__builtin_mul_overflow(count, *unit_s * kNsPerSecond, &age_ns)) return std::nullopt;
  if (__builtin_sub_overflow(now_ns, age_ns, &result_ns)) return std::nullopt;
  return result_ns;
}

}  // namespace

int64_t UnixNowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string Rfc3339Utc(int64_t unix_ns) {
  namespace ch = std::chrono;
  int64_t seconds = unix_ns / kNsPerSecond;
  int64_t fraction_ns = unix_ns % kNsPerSecond;
  if (fraction_ns < 0) {
    fraction_ns += kNsPerSecond;
    --seconds;
  }
  int64_t days = seconds / kSecondsPerDay;
  int64_t in_day = seconds % kSecondsPerDay;
  if (in_day < 0) {
    in_day += kSecondsPerDay;
    --days;
  }
  const ch::year_month_day date{ch::sys_days(ch::days(days))};
  std::string text = fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                                 static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                                 in_day / 3600, in_day / 60 % 60, in_day % 60);
  if (fraction_ns % 1000 != 0) {
    text += fmt::format(".{:09}", fraction_ns);
  } else if (fraction_ns % 1'000'000 != 0) {
    text += fmt::format(".{:06}", fraction_ns / 1000);
  } else if (fraction_ns != 0) {
    text += fmt::format(".{:03}", fraction_ns / 1'000'000);
  }
  return text + "Z";
}

Result<int64_t> ParseTimePoint(std::string_view text, int64_t now_ns) {
  if (const auto age = ParseAge(text, now_ns)) return *age;
  if (const auto absolute = ParseAbsolute(text)) return *absolute;
  return InvalidInput(fmt::format("not a point in time between 1677 and 2262: '{}'", text.substr(0, 80)))
      .Hint("write 2025-11-15, 2025-11-15T01:32:00Z, or an age such as 30m, 24h or 7d");
}

Result<int64_t> ParseTimePoint(std::string_view text) { return ParseTimePoint(text, UnixNowNs()); }

}  // namespace nl
