// SPDX-License-Identifier: Apache-2.0
#include "base/near_names.h"

#include <gtest/gtest.h>

namespace nl {
namespace {

using Names = std::vector<std::string>;

TEST(NameMatcher, MatchesWholeNames) {
  EXPECT_TRUE(NameMatcher("a*c").Matches("abbbc"));
  EXPECT_TRUE(NameMatcher("a*c").Matches("ac"));
  EXPECT_FALSE(NameMatcher("a*c").Matches("acd"));
  EXPECT_TRUE(NameMatcher("*b*d*").Matches("abcde"));
  EXPECT_TRUE(NameMatcher("").Matches(""));
  EXPECT_FALSE(NameMatcher("").Matches("a"));
  EXPECT_TRUE(NameMatcher("*").Matches(""));
  EXPECT_TRUE(NameMatcher("?").Matches("x"));
  EXPECT_FALSE(NameMatcher("a").Matches("A"));
  EXPECT_FALSE(NameMatcher(std::string(30, '*') + "b").Matches(std::string(5000, 'a')));
}

TEST(Nearest, FindsTypingErrorsTiesAndShortenedWordsOnly) {
  const Names commands{"import", "kernels", "operators", "rm", "show", "summary"};
  EXPECT_EQ(Nearest("shwo", commands), Names{"show"});
  EXPECT_EQ(Nearest("improt", commands), Names{"import"});
  EXPECT_EQ(Nearest("kern", commands), Names{"kernels"});
  EXPECT_EQ(Nearest("xyz", commands), Names{});
  EXPECT_EQ(Nearest("", commands), Names{});
  EXPECT_EQ(Nearest(std::string(100'000, 'x'), commands), Names{});
  EXPECT_EQ(DidYouMean(Nearest("cat", {"cut", "car", "dog"})), "did you mean 'cut' or 'car'?");
}

TEST(NearNamesHint, ListsSimilarNamesElseTheFirstOnes) {
  const Names names{"aten::mm", "aten::addmm", "cudaMalloc", "relu", "gelu", "silu"};
  EXPECT_EQ(NearNamesHint("mm*", names), "near names: aten::mm, aten::addmm");
  EXPECT_EQ(NearNamesHint("zzz", names), "it has: aten::mm, aten::addmm, cudaMalloc, relu, gelu, ...");
  EXPECT_EQ(NearNamesHint("zzz", {}), "");
}

}  // namespace
}  // namespace nl
