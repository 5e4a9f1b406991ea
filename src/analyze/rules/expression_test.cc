// SPDX-License-Identifier: Apache-2.0
#include "analyze/rules/expression.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace nl {
namespace {

std::optional<double> Value(const std::string& text, const std::map<std::string, double>& names = {}) {
  TextProblem problem;
  const auto parsed = Expression::Parse(text, problem);
  EXPECT_TRUE(parsed) << text << ": " << problem.message;
  if (!parsed) return std::nullopt;
  return parsed->Evaluate([&](const std::string& name) {
    const auto it = names.find(name);
    return it == names.end() ? std::nullopt : std::optional(it->second);
  });
}

TEST(Expression, PrecedenceFollowsArithmetic) {
  EXPECT_EQ(Value("1 + 2 * 3"), 7);
  EXPECT_EQ(Value("(1 + 2) * 3"), 9);
  EXPECT_EQ(Value("8 - 2 - 1"), 5);
  EXPECT_EQ(Value("8 / 2 / 2"), 2);
  EXPECT_EQ(Value("-2 * 3"), -6);
  EXPECT_EQ(Value("2 - -3"), 5);
  EXPECT_EQ(Value("1 + 1 == 2 and not 1 > 2"), 1);
  EXPECT_EQ(Value("0 and 0 or 1"), 1);
  EXPECT_EQ(Value("1 or 0 and 0"), 1);
  EXPECT_EQ(Value("not 0 and 0"), 0);
  EXPECT_EQ(Value("min(3, 1 + 1, 4) + max(5)"), 7);
  EXPECT_EQ(Value(".5 + 1e-1"), 0.6);
  EXPECT_EQ(Value("1 != 1"), 0);
  EXPECT_EQ(Value("2 <= 2"), 1);
  EXPECT_EQ(Value("2 >= 3"), 0);
}

TEST(Expression, NullPropagatesUnlessOneSideDecides) {
  for (const char* text :
       {"null", "x + 1", "1 - x", "x * 0", "-x", "x < 1", "x == x", "x == null", "not x", "min(1, x)",
        "max(x, 1)", "x and true", "x or false", "1 / 0", "0 / 0", "1 / (2 - 2) > 0", "1e308 * 10"})
    EXPECT_EQ(Value(text), std::nullopt) << text;
  EXPECT_EQ(Value("null and false"), 0);
  EXPECT_EQ(Value("false and null"), 0);
  EXPECT_EQ(Value("null or true"), 1);
  EXPECT_EQ(Value("true or null"), 1);
  EXPECT_EQ(Value("x > 1 or a.b_2 > 1", {{"a.b_2", 2}}), 1);
}

TEST(Expression, NamesAreListedOnceInOrderWithTheirColumn) {
  TextProblem problem;
  const auto parsed = Expression::Parse("run.wall_ms > 3 and op.share + run.wall_ms > x", problem);
  ASSERT_TRUE(parsed);
  ASSERT_EQ(parsed->names().size(), 3u);
  EXPECT_EQ(parsed->names()[0].text, "run.wall_ms");
  EXPECT_EQ(parsed->names()[1].text, "op.share");
  EXPECT_EQ(parsed->names()[1].column, 21u);
  EXPECT_EQ(parsed->names()[2].text, "x");
}

TEST(Expression, ErrorsHaveAColumn) {
  const struct {
    std::string text;
    size_t column;
    const char* message;
  } cases[] = {
      {"", 1, "expected an expression"},
      {"1 +", 4, "expected a value, found the end"},
      {"1 + * 2", 5, "expected a value, found '*'"},
      {"(1 + 2", 7, "expected ')' for the '(' in column 1"},
      {"1 2", 3, "unexpected '2'"},
      {"a < b < c", 7, "comparisons do not chain"},
      {"a = b", 3, "unexpected '='"},
      {"foo(1)", 1, "unknown function 'foo'"},
      {"__import__('os')", 1, "unknown function '__import__'"},
      {"min", 1, "needs arguments"},
      {"max()", 5, "expected a value, found ')'"},
      {"1e999", 1, "is not a number"},
      {"3x", 1, "is not a number"},
      {"1.2.3", 1, "is not a number"},
      {"a..b", 2, "unexpected"},
      {"a && b", 3, "unexpected '&'"},
      {"\"x\"", 1, "is not allowed here"},
      {"and 1", 1, "expected a value"},
      {std::string("a\0b", 3), 2, "unexpected"},
      {std::string(Expression::kMaxBytes + 1, '1'), Expression::kMaxBytes + 1, "longer than"},
  };
  for (const auto& c : cases) {
    TextProblem problem;
    EXPECT_FALSE(Expression::Parse(c.text, problem)) << c.text;
    EXPECT_EQ(problem.column, c.column) << c.text << ": " << problem.message;
    EXPECT_NE(problem.message.find(c.message), std::string::npos) << c.text << ": " << problem.message;
  }
}

TEST(Expression, DepthIsLimitedAndLengthIsNot) {
  TextProblem problem;
  for (const char* open : {"(", "-", "not ", "min("}) {
    std::string deep;
    while (deep.size() + 8 < Expression::kMaxBytes) deep += open;
    EXPECT_FALSE(Expression::Parse(deep + "1", problem));
    EXPECT_NE(problem.message.find("nested too deeply"), std::string::npos) << open;
  }
  std::string chain = "1";
  while (chain.size() + 2 < Expression::kMaxBytes) chain += "+1";
  EXPECT_EQ(Value(chain), static_cast<double>(chain.size() + 1) / 2);
}

TEST(Expression, AnyBytesAreParsedOrRejected) {
  std::mt19937 random(3);
  const std::string pieces[] = {"a",    ".",    "1", "e", "+",    "-",    "*",   "/",
                                "(",    ")",    "<", "=", "!",    "and ", "or ", "not ",
                                "min(", "max(", ",", " ", "null", "\xff", "\n",  "0"};
  int good = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (size_t i = random() % 12; i > 0; --i) text += pieces[random() % std::size(pieces)];
    TextProblem problem;
    if (const auto parsed = Expression::Parse(text, problem)) {
      ++good;
      parsed->Evaluate([](const std::string&) { return std::optional(1.0); });
    } else {
      EXPECT_GE(problem.column, 1u);
      EXPECT_LE(problem.column, text.size() + 1) << text;
      EXPECT_FALSE(problem.message.empty());
    }
  }
  EXPECT_GT(good, 100);
}

TEST(Expression, JoinKeepsNamesApart) {
  TextProblem problem;
  const std::vector<Expression> parts = {*Expression::Parse("a > 1", problem),
                                         *Expression::Parse("b > a", problem)};
  const auto value = [](const Expression& e) {
    return e.Evaluate([](const std::string& name) { return std::optional(name == "a" ? 2.0 : 1.0); });
  };
  EXPECT_EQ(value(Expression::Join(parts, true)), 0);
  EXPECT_EQ(value(Expression::Join(parts, false)), 1);
  EXPECT_EQ(value(Expression::Join({}, true)), 1);
  EXPECT_EQ(value(Expression::Join({}, false)), 0);
}

}  // namespace
}  // namespace nl
