// SPDX-License-Identifier: Apache-2.0
#include "import/trace_json/json_text.h"

#include <gtest/gtest.h>

#include <optional>

namespace nl::trace_json {
namespace {

std::optional<int64_t> Ns(std::string_view micros) {
  int64_t ns = 0;
  return ParseMicrosToNs(micros, ns) ? std::optional(ns) : std::nullopt;
}
std::optional<int64_t> Int(std::string_view text) {
  int64_t v = 0;
  return ParseInt64(text, v) ? std::optional(v) : std::nullopt;
}
std::optional<double> Double(std::string_view text) {
  double v = 0;
  return ParseDouble(text, v) ? std::optional(v) : std::nullopt;
}

// Scans one value out of `text`, which is followed by a comma and the padding scanners need.
struct Scanned {
  Scan scan;
  JsonValue value;
  std::string text;  // of the value, kept alive
  size_t used = 0;
};
Scanned ScanOne(std::string_view text, std::string_view after = ",") {
  std::string buffer = std::string(text) + std::string(after);
  const size_t size = buffer.size();
  buffer.append(kPadding, '\0');
  Scanned out{};
  const char* p = buffer.data();
  out.scan = ScanValue(p, buffer.data() + size, out.value);
  out.used = static_cast<size_t>(p - buffer.data());
  if (out.scan == Scan::kOk) out.text = out.value.text();
  return out;
}

TEST(MicrosToNs, IsExactWhereADoubleIsNot) {
  EXPECT_EQ(Ns("3843684104063.170"), 3843684104063170);
  EXPECT_EQ(Ns("3843684104063.17"), 3843684104063170);
  EXPECT_EQ(Ns("9007199254740993.001"), 9007199254740993001);  // no double holds 2^53 + 1
  EXPECT_EQ(Ns("1621401187223005"), 1621401187223005000);
  EXPECT_EQ(Ns("0.001"), 1);
  EXPECT_EQ(Ns("0"), 0);
  EXPECT_EQ(Ns("0.0"), 0);
}

TEST(MicrosToNs, MoreThanThreeDecimalsRoundHalfUp) {
  EXPECT_EQ(Ns("1.0004"), 1000);
  EXPECT_EQ(Ns("1.0005"), 1001);
  EXPECT_EQ(Ns("1.00049999999999999999999"), 1000);
  EXPECT_EQ(Ns("1.9999"), 2000);
}

TEST(MicrosToNs, NegativeTimesKeepTheirSign) {
  EXPECT_EQ(Ns("-5"), -5000);
  EXPECT_EQ(Ns("-0.250"), -250);
  EXPECT_EQ(Ns("-1.5e1"), -15000);
}

TEST(MicrosToNs, ExponentsShiftTheDigits) {
  EXPECT_EQ(Ns("1.5e+06"), 1500000000);
  EXPECT_EQ(Ns("1e3"), 1000000);
  EXPECT_EQ(Ns("1E-3"), 1);
  EXPECT_EQ(Ns("12345e-2"), 123450);
  EXPECT_EQ(Ns("3.843684104063170e12"), 3843684104063170);
  EXPECT_EQ(Ns("1e-30"), 0);
}

TEST(MicrosToNs, WhatDoesNotFitIsRefused) {
  EXPECT_EQ(Ns("9223372036854775.807"), INT64_MAX);
  EXPECT_EQ(Ns("9223372036854775.808"), std::nullopt);
  EXPECT_EQ(Ns("1e30"), std::nullopt);
  EXPECT_EQ(Ns("1e400"), std::nullopt);
  EXPECT_EQ(Ns("100000000000000000000000000"), std::nullopt);
  EXPECT_EQ(Ns("-99999999999999999"), std::nullopt);
}

TEST(MicrosToNs, WhatIsNoNumberIsRefused) {
  for (const char* text :
       {"", "-", ".", ".5", "NaN", "Infinity", "-Infinity", "1.2.3", "1e", "1e+", "e5", "1x", "0x10", "1 "})
    EXPECT_EQ(Ns(text), std::nullopt) << text;
}

TEST(ParseInt64, TakesWholeNumbersThatFitOnly) {
  EXPECT_EQ(Int("0"), 0);
  EXPECT_EQ(Int("-7"), -7);
  EXPECT_EQ(Int("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(Int("-9223372036854775808"), INT64_MIN);
  for (const char* text :
       {"9223372036854775808", "18446744073709551615", "1.0", "1e3", "", "-", "+1", " 1", "1 ", "NaN"})
    EXPECT_EQ(Int(text), std::nullopt) << text;
}

TEST(ParseInt64, LeavesTheValueAloneWhenItFails) {
  for (const char* text : {"1.5", "12x", "99999999999999999999", "-"}) {
    int64_t whole = 77;
    EXPECT_FALSE(ParseInt64(text, whole)) << text;
    EXPECT_EQ(whole, 77) << text;
  }
  double real = 77;
  EXPECT_FALSE(ParseDouble("12345678901234567x", real));
  EXPECT_EQ(real, 77);
}

TEST(ParseDouble, RoundsCorrectlyAndRefusesWhatIsNotFinite) {
  EXPECT_EQ(Double("19"), 19.0);
  EXPECT_EQ(Double("0.1"), 0.1);
  EXPECT_EQ(Double("-2.5"), -2.5);
  EXPECT_EQ(Double("1268.4387096774194"), 1268.4387096774194);
  EXPECT_EQ(Double("0.001314060446780552"), 0.001314060446780552);
  EXPECT_EQ(Double("1e22"), 1e22);
  EXPECT_EQ(Double("123456789012345678901234567890"), 123456789012345678901234567890.0);
  for (const char* text : {"NaN", "Infinity", "-Infinity", "nan", "inf", "1e999", "", "-", "abc", "1.5x"})
    EXPECT_EQ(Double(text), std::nullopt) << text;
}

TEST(ValueDigits, GiveTheSameNumbersAsTheText) {
  const std::pair<int64_t, uint8_t> numbers[] = {{0, 0},         {170, 3}, {-25, 2},
                                                 {123456789, 9}, {-1, 0},  {999999999999999999, 3}};
  for (const auto& [digits, decimals] : numbers) {
    std::string text = std::to_string(digits < 0 ? -digits : digits);
    while (text.size() <= decimals) text.insert(0, 1, '0');
    if (decimals > 0) text.insert(text.size() - decimals, 1, '.');
    if (digits < 0) text.insert(0, 1, '-');
    JsonValue plain;
    plain.data = text.data();
    plain.size = static_cast<uint32_t>(text.size());
    plain.kind = JsonKind::kNumber;
    JsonValue known = plain;
    known.digits = digits;
    known.decimals = decimals;
    int64_t a = 1, b = 2;
    double x = 1, y = 2;
    EXPECT_EQ(ToNs(plain, a), ToNs(known, b)) << text;
    EXPECT_EQ(a, b) << text;
    EXPECT_EQ(ToDouble(plain, x), ToDouble(known, y)) << text;
    EXPECT_EQ(x, y) << text;
    if (decimals == 0) {
      EXPECT_EQ(ToInt64(plain, a), ToInt64(known, b)) << text;
      EXPECT_EQ(a, b) << text;
    }
  }
}

TEST(ValueDigits, AStringOfDigitsIsNoNumber) {
  const Scanned s = ScanOne("\"12\"");
  int64_t v = 0;
  EXPECT_FALSE(ToInt64(s.value, v));
  EXPECT_FALSE(ToNs(s.value, v));
}

TEST(ScanValue, TellsKindsByTheFirstCharacter) {
  EXPECT_EQ(ScanOne("\"a b\"").value.kind, JsonKind::kString);
  EXPECT_EQ(ScanOne("\"a b\"").text, "a b");
  EXPECT_EQ(ScanOne("-12.5").value.kind, JsonKind::kNumber);
  EXPECT_EQ(ScanOne("true").value.kind, JsonKind::kWord);
  EXPECT_EQ(ScanOne("NaN").value.kind, JsonKind::kWord);
  EXPECT_EQ(ScanOne("-Infinity").value.kind, JsonKind::kWord);
  EXPECT_EQ(ScanOne("[1, {\"a\": \"]\"}]").value.kind, JsonKind::kNested);
  EXPECT_EQ(ScanOne("[1, {\"a\": \"]\"}]").text, "[1, {\"a\": \"]\"}]");
}

TEST(ScanValue, StopsBehindTheValue) {
  EXPECT_EQ(ScanOne("12", "}").used, 2u);
  EXPECT_EQ(ScanOne("\"x\\\"y\"", "}").used, 6u);
  EXPECT_EQ(ScanOne("{}", "]").used, 2u);
}

TEST(ScanValue, TextThatEndsInsideAValueNeedsMore) {
  for (const char* text :
       {"\"abc", "\"abc\\", "\"abc\\\"", "12", "tru", "[1, 2", "{\"a\": \"}", "{\"a\": [", "-"})
    EXPECT_EQ(ScanOne(text, "").scan, Scan::kNeedMore) << text;
}

TEST(ScanValue, TextThatIsNoValueIsBad) {
  for (const char* text : {"a\"b\"", "1:2", "x{", ",", "}"})
    EXPECT_EQ(ScanOne(text).scan, Scan::kBad) << text;
}

TEST(ScanString, FindsTheQuoteAtEveryDistance) {
  for (size_t size = 0; size < 70; ++size) {
    const Scanned s = ScanOne('"' + std::string(size, 'x') + '"');
    ASSERT_EQ(s.scan, Scan::kOk) << size;
    EXPECT_EQ(s.text, std::string(size, 'x'));
    EXPECT_FALSE(s.value.escaped);
    const Scanned e = ScanOne('"' + std::string(size, 'x') + "\\\"\"");
    ASSERT_EQ(e.scan, Scan::kOk) << size;
    EXPECT_EQ(e.text, std::string(size, 'x') + "\\\"");
    EXPECT_TRUE(e.value.escaped);
  }
}

std::string Plain(std::string_view raw, bool expect_bad = false) {
  bool bad = false;
  const std::string out = Unescape(raw, bad);
  EXPECT_EQ(bad, expect_bad) << raw;
  return out;
}

TEST(Unescape, ResolvesEveryEscapeOfJson) {
  EXPECT_EQ(Plain(R"(a\"b\\c\/d\b\f\n\r\te)"), "a\"b\\c/d\b\f\n\r\te");
  EXPECT_EQ(Plain(R"(\u0041\u00e9\u20ac)"), "A\u00e9\u20ac");
  EXPECT_EQ(Plain(R"(\ud83d\ude00)"), "\U0001F600");
  EXPECT_EQ(Plain(""), "");
}

TEST(Unescape, LoneSurrogatesBecomeTheReplacementCharacter) {
  EXPECT_EQ(Plain(R"(a\ud83db)", true),
            "a\xef\xbf\xbd"
            "b");
  EXPECT_EQ(Plain(R"(\ude00)", true), "\xef\xbf\xbd");
  EXPECT_EQ(Plain(R"(\ud83d\u0041)", true),
            "\xef\xbf\xbd"
            "A");
}

TEST(Unescape, WhatIsNoEscapeStaysAsWritten) {
  EXPECT_EQ(Plain(R"(\x41)"), R"(\x41)");
  EXPECT_EQ(Plain(R"(\u12)"), R"(\u12)");
  EXPECT_EQ(Plain(R"(\uzzzz)"), R"(\uzzzz)");
  EXPECT_EQ(Plain("end\\"), "end\\");
}

TEST(Unescape, BadBytesBecomeTheReplacementCharacter) {
  EXPECT_EQ(Plain("a\xff"
                  "b",
                  true),
            "a\xef\xbf\xbd"
            "b");
  EXPECT_EQ(Plain("\xc3", true), "\xef\xbf\xbd");
  EXPECT_EQ(Plain("\xc0\x80", true), "\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(Plain("\xed\xa0\x80", true), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

TEST(Minify, DropsSpacesBetweenTokensOnly) {
  bool bad = false;
  EXPECT_EQ(Minify("[ 1,\n\t{ \"a b\" : \"c \\\" d\" } ]", bad), "[1,{\"a b\":\"c \\\" d\"}]");
  EXPECT_FALSE(bad);
  EXPECT_EQ(Minify("\" \xff \"", bad), "\" \xef\xbf\xbd \"");
  EXPECT_TRUE(bad);
}

}  // namespace
}  // namespace nl::trace_json
