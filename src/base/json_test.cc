// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <gtest/gtest.h>

namespace nl {
namespace {

std::string Object(size_t members) {
  std::string text = "{";
  for (size_t i = 0; i < members; ++i)
    text += (i == 0 ? "\"k" : ",\"k") + std::to_string(i) + "\":" + std::to_string(i);
  return text + "}";
}

std::string Nested(size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(Json, EveryKindOfValueIsReadAsTheLibraryReadsIt) {
  const std::string text =
      R"j({"a": [1, -2, 3.5, 1e300, true, false, null, "x\u00e9\n"], "b": {"c": {}, "d": []},
           "big": 18446744073709551615, "small": -9223372036854775808, "": {"e": [[1], {"f": 2}]}})j";
  const Result<Json> ours = ParseJson(text);
  ASSERT_TRUE(ours.ok()) << ours.error().ToString();
  EXPECT_EQ(*ours, Json::parse(text));
  EXPECT_EQ(DumpJson(*ours), DumpJson(Json::parse(text)));
  for (const char* scalar : {"1", "\"s\"", "null", "true", "[]", "{}"}) {
    ASSERT_TRUE(ParseJson(scalar).ok()) << scalar;
    EXPECT_EQ(*ParseJson(scalar), Json::parse(scalar)) << scalar;
  }
}

TEST(Json, TheLastOfEqualKeysCountsAtThePlaceOfTheFirst) {
  EXPECT_EQ(DumpJson(*ParseJson(R"({"a": 1, "b": 2, "a": {"x": 3}})")), R"({"a":{"x":3},"b":2})");
  std::string many = Object(5000);
  many.back() = ',';
  many += R"("k7": "new", "k4999": "newer", "k7": "newest"})";
  const Result<Json> merged = ParseJson(many);
  ASSERT_TRUE(merged.ok());
  EXPECT_EQ(merged->size(), 5000u);
  EXPECT_EQ((*merged)["k7"], "newest");
  EXPECT_EQ((*merged)["k4999"], "newer");
  EXPECT_EQ(std::next(merged->begin(), 7).key(), "k7");
}

TEST(Json, WrongTextIsInvalidInputWithItsOffset) {
  for (const char* text : {"", "{", "[1,]", "{\"a\":}", "nul", "\"\xff\"", "1 2", "[1e999]"}) {
    const Result<Json> parsed = ParseJson(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kInvalidInput) << text;
  }
  EXPECT_EQ(ParseJson("[1, 2, x]").error().byte_offset, 8);
}

TEST(Json, HugeObjectsAreReadToTheLimitAndRefusedBeyond) {
  const Result<Json> largest = ParseJson(Object(kMaxJsonMembers));
  ASSERT_TRUE(largest.ok());
  EXPECT_EQ(largest->size(), kMaxJsonMembers);
  const Result<Json> beyond = ParseJson(Object(1'000'000));
  ASSERT_FALSE(beyond.ok());
  EXPECT_EQ(beyond.error().code, ErrorCode::kInvalidInput);
  EXPECT_NE(beyond.error().message.find("100000 members"), std::string::npos);
}

TEST(Json, NestingIsTakenToTheLimitAndRefusedBeyond) {
  EXPECT_TRUE(ParseJson(Nested(kMaxJsonDepth)).ok());
  const Result<Json> beyond = ParseJson(Nested(kMaxJsonDepth + 1));
  ASSERT_FALSE(beyond.ok());
  EXPECT_EQ(beyond.error().code, ErrorCode::kInvalidInput);
  EXPECT_FALSE(ParseJson(std::string(10'000'000, '[')).ok());
}

}  // namespace
}  // namespace nl
