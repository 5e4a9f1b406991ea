// SPDX-License-Identifier: Apache-2.0
#pragma once
// Scanning JSON text in place: tokens without copies, at memory speed, tolerant of
// what real trace files contain (NaN, raw control characters, bad UTF-8).
// Every scanned buffer must be followed by kPadding readable bytes.
// Thread rule: pure functions over the caller's bytes.

#include <cstdint>
#include <string>
#include <string_view>

#include "model/ids.h"

#if defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace nl::trace_json {

inline constexpr size_t kPadding = 64;

enum class JsonKind : uint8_t { kString, kNumber, kNested, kWord };

// One value as it lies in the text. Strings come without their quotes. What the
// scanner learned on the way (digits, a known string's number) rides along.
struct JsonValue {
  static constexpr uint8_t kNotParsed = 0xff;

  const char* data = nullptr;
  uint32_t size = 0;
  JsonKind kind = JsonKind::kWord;
  bool escaped = false;                         // a string with a backslash in it
  uint8_t decimals = kNotParsed;                // of a plain decimal number: digits after the point
  int64_t digits = 0;                           // its digits without the point, sign included
  mutable StringId known_id = StringId::kNull;  // local string id, when the text was seen before
  bool known_as_json = false;                   // that id is of the JSON text, not of the content

  bool given() const { return data != nullptr; }
  std::string_view text() const { return {data, size}; }
  // The value as JSON text, a string with its quotes.
  std::string_view json() const {
    return kind == JsonKind::kString ? std::string_view{data - 1, size + 2u} : text();
  }
};

inline bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

inline const char* SkipSpace(const char* p, const char* end) {
  while (p < end && IsSpace(*p)) ++p;
  return p;
}

// First quote or backslash at or after p; `end` when there is none.
inline const char* FindQuoteOrBackslash(const char* p, const char* end) {
#if defined(__aarch64__)
  for (; p < end; p += 16) {
    const uint8x16_t v = vld1q_u8(reinterpret_cast<const uint8_t*>(p));
    const uint8x16_t hit = vorrq_u8(vceqq_u8(v, vdupq_n_u8('"')), vceqq_u8(v, vdupq_n_u8('\\')));
    const uint64_t mask = vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8(hit), 4)), 0);
    if (mask != 0) {
      p += __builtin_ctzll(mask) >> 2;
      return p < end ? p : end;
    }
  }
  return end;
#elif defined(__SSE2__)
  for (; p < end; p += 16) {
    const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const __m128i hit =
        _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('"')), _mm_cmpeq_epi8(v, _mm_set1_epi8('\\')));
    const int mask = _mm_movemask_epi8(hit);
    if (mask != 0) {
      p += __builtin_ctz(static_cast<unsigned>(mask));
      return p < end ? p : end;
    }
  }
  return end;
#else
  while (p < end && *p != '"' && *p != '\\') ++p;
  return p;
#endif
}

enum class Scan : uint8_t {
  kOk,
  kNeedMore,  // the text ends inside the value
  kBad,       // not JSON, not even tolerated JSON
};

// Scans a string whose opening quote is at p[-1]; on success p is after the closing quote.
inline Scan ScanString(const char*& p, const char* end, JsonValue& out) {
  const char* begin = p;
  bool escaped = false;
  for (;;) {
    p = FindQuoteOrBackslash(p, end);
    if (p >= end) return Scan::kNeedMore;
    if (*p == '"') break;
    escaped = true;
    p += 2;
  }
  if (p - begin > INT32_MAX) return Scan::kBad;
  out = {};
  out.data = begin;
  out.size = static_cast<uint32_t>(p - begin);
  out.kind = JsonKind::kString;
  out.escaped = escaped;
  ++p;
  return Scan::kOk;
}

// Scans an object or array as one piece of text, p at its opening bracket.
Scan ScanNested(const char*& p, const char* end, JsonValue& out);

// Scans any value, p at its first character.
inline Scan ScanValue(const char*& p, const char* end, JsonValue& out) {
  if (p >= end) return Scan::kNeedMore;
  if (*p == '"') return ScanString(++p, end, out);
  if (*p == '{' || *p == '[') return ScanNested(p, end, out);
  const char* begin = p;
  while (p < end && *p != ',' && *p != '}' && *p != ']' && !IsSpace(*p)) {
    if (*p == '"' || *p == ':' || *p == '{' || *p == '[') return Scan::kBad;
    ++p;
  }
  if (p >= end) return Scan::kNeedMore;
  if (p == begin || p - begin > INT32_MAX) return Scan::kBad;
  const bool number = (*begin >= '0' && *begin <= '9') || (*begin == '-' && p - begin > 1 && begin[1] != 'I');
  out = {};
  out.data = begin;
  out.size = static_cast<uint32_t>(p - begin);
  out.kind = number ? JsonKind::kNumber : JsonKind::kWord;
  return Scan::kOk;
}

// Integer without fraction or exponent that fits; false otherwise.
bool ParseInt64(std::string_view text, int64_t& out);
// Any JSON number, correctly rounded; false for NaN, Infinity and what is not a number.
bool ParseDouble(std::string_view text, double& out);
// Decimal microseconds to whole nanoseconds, exact (half a nanosecond rounds up);
// false when it is not a number or does not fit.
bool ParseMicrosToNs(std::string_view text, int64_t& out_ns);

// The same from a value, using its digits where the scanner has them.
inline bool ToInt64(const JsonValue& v, int64_t& out) {
  if (v.kind != JsonKind::kNumber) return false;
  if (v.decimals != 0) return ParseInt64(v.text(), out);
  out = v.digits;
  return true;
}
inline bool ToDouble(const JsonValue& v, double& out) {
  static constexpr double kPowers[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};
  if (v.kind != JsonKind::kNumber) return false;
  if (v.decimals > 9 || v.digits > (int64_t{1} << 53) || v.digits < -(int64_t{1} << 53))
    return ParseDouble(v.text(), out);
  out = static_cast<double>(v.digits) / kPowers[v.decimals];
  return true;
}
inline bool ToNs(const JsonValue& v, int64_t& out_ns) {
  static constexpr int64_t kScale[] = {1000, 100, 10, 1};
  if (v.kind != JsonKind::kNumber) return false;
  if (v.decimals > 3) return ParseMicrosToNs(v.text(), out_ns);
  return !__builtin_mul_overflow(v.digits, kScale[v.decimals], &out_ns);
}

// The string's own bytes: escapes resolved, bytes that are not UTF-8 replaced by
// U+FFFD (then `bad_utf8` is set).
std::string Unescape(std::string_view raw, bool& bad_utf8);
// JSON text without the spaces between its tokens.
std::string Minify(std::string_view json, bool& bad_utf8);

}  // namespace nl::trace_json
