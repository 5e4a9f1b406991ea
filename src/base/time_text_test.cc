// SPDX-License-Identifier: Apache-2.0
#include "base/time_text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace nl {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kNow = 1'763'170'320 * kSecond;  // 2025-11-15T01:32:00Z

int64_t Parsed(std::string_view text) {
  const auto result = ParseTimePoint(text, kNow);
  EXPECT_TRUE(result.ok()) << text;
  return result.ok() ? *result : -1;
}

TEST(Rfc3339Utc, FractionHasNoMoreDigitGroupsThanNeeded) {
  EXPECT_EQ(Rfc3339Utc(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(Rfc3339Utc(kNow), "2025-11-15T01:32:00Z");
  EXPECT_EQ(Rfc3339Utc(kNow + 500'000'000), "2025-11-15T01:32:00.500Z");
  EXPECT_EQ(Rfc3339Utc(kNow + 1'000), "2025-11-15T01:32:00.000001Z");
  EXPECT_EQ(Rfc3339Utc(kNow + 7), "2025-11-15T01:32:00.000000007Z");
}

TEST(Rfc3339Utc, TimesBefore1970KeepTheirFraction) {
  EXPECT_EQ(Rfc3339Utc(-1), "1969-12-31T23:59:59.999999999Z");
  EXPECT_EQ(Rfc3339Utc(std::numeric_limits<int64_t>::min()), "1677-09-21T00:12:43.145224192Z");
  EXPECT_EQ(Rfc3339Utc(std::numeric_limits<int64_t>::max()), "2262-04-11T23:47:16.854775807Z");
}

TEST(ParseTimePoint, TextOfEveryTimeParsesBack) {
  for (const int64_t ns : {int64_t{0}, int64_t{-1}, kNow, kNow + 123'456'789, int64_t{951'782'400} * kSecond,
                           std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()}) {
    EXPECT_EQ(Parsed(Rfc3339Utc(ns)), ns);
  }
}

TEST(ParseTimePoint, AcceptsRfc3339Spellings) {
  EXPECT_EQ(Parsed("2025-11-15T01:32:00Z"), kNow);
  EXPECT_EQ(Parsed("2025-11-15t01:32:00z"), kNow);
  EXPECT_EQ(Parsed("2025-11-15 01:32:00Z"), kNow);
  EXPECT_EQ(Parsed("2025-11-15T03:32:00+02:00"), kNow);
  EXPECT_EQ(Parsed("2025-11-14T20:02:00-05:30"), kNow);
  EXPECT_EQ(Parsed("2025-11-15T01:32:00.5Z"), kNow + kSecond / 2);
  EXPECT_EQ(Parsed("2025-11-15T01:32:00.0000000019Z"), kNow + 1);
  EXPECT_EQ(Parsed("2016-12-31T23:59:60Z"), Parsed("2017-01-01T00:00:00Z"));
}

TEST(ParseTimePoint, DateIsItsMidnightInUtc) {
  EXPECT_EQ(Parsed("2025-11-15"), kNow - (3600 + 32 * 60) * kSecond);
  EXPECT_EQ(Parsed("2024-02-29"), Parsed("2024-02-29T00:00:00Z"));
}

TEST(ParseTimePoint, AgesCountBackFromNow) {
  EXPECT_EQ(Parsed("45s"), kNow - 45 * kSecond);
  EXPECT_EQ(Parsed("30m"), kNow - 1800 * kSecond);
  EXPECT_EQ(Parsed("24h"), kNow - 86'400 * kSecond);
  EXPECT_EQ(Parsed("7d"), kNow - 7 * 86'400 * kSecond);
  EXPECT_EQ(Parsed("2w"), Parsed("14d"));
  EXPECT_EQ(Parsed("0d"), kNow);
}

TEST(ParseTimePoint, OneArgumentFormCountsFromTheSystemClock) {
  const int64_t before = UnixNowNs();
  const auto result = ParseTimePoint("1h");
  const int64_t after = UnixNowNs();
  ASSERT_TRUE(result.ok());
  EXPECT_GE(*result, before - 3600 * kSecond);
  EXPECT_LE(*result, after - 3600 * kSecond);
}

TEST(ParseTimePoint, RefusesWhatIsNoTimeWithAHint) {
  for (const char* text : {"",
                           "d",
                           "7",
                           "7 d",
                           "-7d",
                           "7y",
                           "1.5h",
                           "yesterday",
                           "2025",
                           "2025-11",
                           "2025-1-5",
                           "2025-13-01",
                           "2025-00-01",
                           "2025-02-29",
                           "2025-04-31",
                           "2025-11-15T",
                           "2025-11-15T01:32Z",
                           "2025-11-15T24:00:00Z",
                           "2025-11-15T01:60:00Z",
                           "2025-11-15T01:32:61Z",
                           "2025-11-15T01:32:00",
                           "2025-11-15T01:32:00.Z",
                           "2025-11-15T01:32:00+2",
                           "2025-11-15T01:32:00Zx",
                           "2025-11-15x",
                           "+2025-11-15"}) {
    const auto result = ParseTimePoint(text, kNow);
    ASSERT_FALSE(result.ok()) << text;
    EXPECT_EQ(result.error().code, ErrorCode::kInvalidInput) << text;
    EXPECT_NE(result.error().hint.find("7d"), std::string::npos) << text;
  }
}

TEST(ParseTimePoint, RefusesTimesOutsideTheRange) {
  for (const char* text : {"2263-01-01", "1600-01-01", "9999-12-31T23:59:59Z", "999999999999d",
                           "99999999999999999999999d", "2262-04-11T23:47:16.854775808Z"}) {
    EXPECT_FALSE(ParseTimePoint(text, kNow).ok()) << text;
  }
}

}  // namespace
}  // namespace nl
