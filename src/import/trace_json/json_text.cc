// SPDX-License-Identifier: Apache-2.0
#include "import/trace_json/json_text.h"

#include <charconv>
#include <cmath>

#include "base/utf8.h"

namespace nl::trace_json {

Scan ScanNested(const char*& p, const char* end, JsonValue& out) {
  const char* begin = p;
  int64_t depth = 0;
  for (; p < end; ++p) {
    const char c = *p;
    if (c == '"') {
      ++p;
      JsonValue inner;
      if (const Scan s = ScanString(p, end, inner); s != Scan::kOk) return s;
      --p;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      if (--depth == 0) {
        ++p;
        if (p - begin > INT32_MAX) return Scan::kBad;
        out = {};
        out.data = begin;
        out.size = static_cast<uint32_t>(p - begin);
        out.kind = JsonKind::kNested;
        return Scan::kOk;
      }
    }
  }
  return Scan::kNeedMore;
}

bool ParseInt64(std::string_view text, int64_t& out) {
  int64_t value = 0;  // from_chars stores the 1 of "1.5" before it stops
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) return false;
  out = value;
  return true;
}

bool ParseDouble(std::string_view text, double& out) {
  // Short decimals, which is what traces hold, are exact as integer / power of ten.
  static constexpr double kPowers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                       1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
  if (text.empty()) return false;
  const bool negative = text[0] == '-';
  uint64_t digits = 0;
  size_t decimals = 0;
  bool point = false;
  size_t i = negative ? 1 : 0;
  const size_t first = i;
  for (; i < text.size(); ++i) {
    if (text[i] == '.' && !point) {
      point = true;
      continue;
    }
    if (text[i] < '0' || text[i] > '9') break;
    digits = digits * 10 + static_cast<uint64_t>(text[i] - '0');
    decimals += point;
  }
  if (i == text.size() && i - first <= 15 && i > first) {
    const double v = static_cast<double>(digits) / kPowers[decimals];
    out = negative ? -v : v;
    return true;
  }
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return false;
  out = value;
  return true;
}

namespace {

// Numbers with an exponent are rare (some writers print 1.5e+06): shift the digits.
bool ParseScaled(std::string_view text, int64_t& out_ns) {
  const size_t e = text.find_first_of("eE");
  int exponent = 0;
  std::string_view tail = text.substr(e + 1);
  if (!tail.empty() && tail[0] == '+') tail.remove_prefix(1);
  const auto [end, code] = std::from_chars(tail.data(), tail.data() + tail.size(), exponent);
  if (code != std::errc() || end != tail.data() + tail.size() || exponent > 40 || exponent < -40)
    return false;
  std::string digits(text.substr(0, e));
  size_t point = digits.find('.');
  if (point == std::string::npos)
    point = digits.size();
  else
    digits.erase(point, 1);
  const bool negative = !digits.empty() && digits[0] == '-';
  int64_t at = static_cast<int64_t>(point) + exponent;
  const int64_t floor = negative ? 1 : 0;
  while (at < floor + 1) {
    digits.insert(static_cast<size_t>(floor), 1, '0');
    ++at;
  }
  if (at > static_cast<int64_t>(digits.size())) digits.append(static_cast<size_t>(at) - digits.size(), '0');
  digits.insert(static_cast<size_t>(at), 1, '.');
  return ParseMicrosToNs(digits, out_ns);
}

}  // namespace

bool ParseMicrosToNs(std::string_view text, int64_t& out_ns) {
  const char* p = text.data();
  const char* end = p + text.size();
  const bool negative = p < end && *p == '-';
  if (negative) ++p;
  const char* first = p;
  unsigned __int128 ns = 0;
  while (p < end && *p >= '0' && *p <= '9') {
    ns = ns * 10 + static_cast<unsigned>(*p++ - '0');
    if (p - first > 25) return false;
  }
  if (p == first) return false;
  int decimals = 0;
  bool round_up = false;
  if (p < end && *p == '.') {
    ++p;
    for (; p < end && *p >= '0' && *p <= '9'; ++p) {
      if (decimals < 3)
        ns = ns * 10 + static_cast<unsigned>(*p - '0');
      else if (decimals == 3)
        round_up = *p >= '5';
      ++decimals;
    }
  }
  if (p != end) return (*p == 'e' || *p == 'E') && ParseScaled(text, out_ns);
  for (; decimals < 3; ++decimals) ns *= 10;
  ns += round_up;
  if (ns > static_cast<unsigned __int128>(INT64_MAX)) return false;
  out_ns = negative ? -static_cast<int64_t>(ns) : static_cast<int64_t>(ns);
  return true;
}

namespace {

void PutCodePoint(std::string& out, uint32_t c) {
  if (c < 0x80) {
    out.push_back(static_cast<char>(c));
  } else if (c < 0x800) {
    out.push_back(static_cast<char>(0xc0 | (c >> 6)));
    out.push_back(static_cast<char>(0x80 | (c & 0x3f)));
  } else if (c < 0x10000) {
    out.push_back(static_cast<char>(0xe0 | (c >> 12)));
    out.push_back(static_cast<char>(0x80 | ((c >> 6) & 0x3f)));
    out.push_back(static_cast<char>(0x80 | (c & 0x3f)));
  } else {
    out.push_back(static_cast<char>(0xf0 | (c >> 18)));
    out.push_back(static_cast<char>(0x80 | ((c >> 12) & 0x3f)));
    out.push_back(static_cast<char>(0x80 | ((c >> 6) & 0x3f)));
    out.push_back(static_cast<char>(0x80 | (c & 0x3f)));
  }
}

bool ReadHex4(std::string_view raw, size_t at, uint32_t& out) {
  if (at + 4 > raw.size()) return false;
  const auto [end, code] = std::from_chars(raw.data() + at, raw.data() + at + 4, out, 16);
  return code == std::errc() && end == raw.data() + at + 4;
}

// \uXXXX at raw[i] == 'u'; moves i to the last character taken. Lone surrogates become U+FFFD.
void PutUnicodeEscape(std::string& out, std::string_view raw, size_t& i, bool& bad_utf8) {
  uint32_t c = 0;
  if (!ReadHex4(raw, i + 1, c)) {
    out += "\\u";
    return;
  }
  i += 4;
  uint32_t low = 0;
  if (c >= 0xd800 && c < 0xdc00 && i + 2 < raw.size() && raw[i + 1] == '\\' && raw[i + 2] == 'u' &&
      ReadHex4(raw, i + 3, low) && low >= 0xdc00 && low < 0xe000) {
    c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    i += 6;
  } else if (c >= 0xd800 && c < 0xe000) {
    c = 0xfffd;  // half of a pair: no UTF-8 can hold it
    bad_utf8 = true;
  }
  PutCodePoint(out, c);
}

std::string CleanUtf8(std::string text, bool& bad_utf8) {
  if (IsUtf8(text)) return text;
  bad_utf8 = true;
  return ValidUtf8(text);
}

}  // namespace

std::string Unescape(std::string_view raw, bool& bad_utf8) {
  std::string out;
  out.reserve(raw.size());
  for (size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\' || i + 1 == raw.size()) {
      out.push_back(raw[i]);
      continue;
    }
    switch (raw[++i]) {
      case 'n': out.push_back('\n'); break;
      case 't': out.push_back('\t'); break;
      case 'r': out.push_back('\r'); break;
      case 'b': out.push_back('\b'); break;
      case 'f': out.push_back('\f'); break;
      case 'u': PutUnicodeEscape(out, raw, i, bad_utf8); break;
      case '"':
      case '\\':
      case '/': out.push_back(raw[i]); break;
      default: out.push_back('\\'); out.push_back(raw[i]);  // not an escape of JSON: kept as written
    }
  }
  return CleanUtf8(std::move(out), bad_utf8);
}

std::string Minify(std::string_view json, bool& bad_utf8) {
  std::string out;
  out.reserve(json.size());
  bool in_string = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string && c == '\\' && i + 1 < json.size()) {
      out.push_back(c);
      out.push_back(json[++i]);
      continue;
    }
    if (c == '"') in_string = !in_string;
    if (!in_string && IsSpace(c)) continue;
    out.push_back(c);
  }
  return CleanUtf8(std::move(out), bad_utf8);
}

}  // namespace nl::trace_json
