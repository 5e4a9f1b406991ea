// SPDX-License-Identifier: Apache-2.0
#include "model/string_pool.h"

#include <gtest/gtest.h>

#include <string>

namespace nl {
namespace {

TEST(StringPool, OneTextOneIdInOrderOfFirstSight) {
  StringPool pool;
  EXPECT_EQ(pool.Add("a"), static_cast<StringId>(0));
  EXPECT_EQ(pool.Add("b"), static_cast<StringId>(1));
  EXPECT_EQ(pool.Add("a"), static_cast<StringId>(0));
  EXPECT_EQ(pool.Add(""), static_cast<StringId>(2));
  EXPECT_EQ(pool.size(), 3u);
  EXPECT_EQ(pool.Text(static_cast<StringId>(1)), "b");
  EXPECT_EQ(pool.Text(static_cast<StringId>(2)), "");
  EXPECT_EQ(pool.Find("b"), static_cast<StringId>(1));
  EXPECT_EQ(pool.Find("absent"), StringId::kNull);
}

TEST(StringPool, NullIsNoText) {
  StringPool pool;
  EXPECT_EQ(pool.Text(StringId::kNull), "");
}

TEST(StringPool, TextsNeverMoveHoweverManyFollow) {
  StringPool pool;
  const std::string_view first = pool.Text(pool.Add("first"));
  const char* at = first.data();
  for (int i = 0; i < 200000; ++i) pool.Add("text " + std::to_string(i));
  EXPECT_EQ(pool.Text(static_cast<StringId>(0)).data(), at);
  for (int i = 0; i < 200000; i += 997) {
    const std::string text = "text " + std::to_string(i);
    ASSERT_EQ(pool.Text(pool.Find(text)), text);
    ASSERT_EQ(static_cast<int>(pool.Find(text)), i + 1);
  }
}

TEST(StringPool, EqualHashesDoNotMakeTextsEqual) {
  StringPool pool;
  const StringId a = pool.Add("a", 42), b = pool.Add("b", 42);
  EXPECT_NE(a, b);
  EXPECT_EQ(pool.Add("a", 42), a);
  EXPECT_EQ(pool.Text(b), "b");
}

TEST(TextArena, LargeAndSmallTextsShareIt) {
  TextArena arena;
  std::vector<std::pair<std::string_view, std::string>> kept;
  for (int i = 0; i < 300; ++i) {
    const std::string text(static_cast<size_t>(i % 5 == 0 ? 300000 + i : i * 7),
                           static_cast<char>('a' + i % 26));
    kept.emplace_back(arena.Copy(text), text);
  }
  size_t bytes = 0;
  for (const auto& [copy, text] : kept) {
    ASSERT_TRUE(copy == text) << text.size();
    bytes += text.size();
  }
  EXPECT_EQ(arena.bytes(), bytes);
}

TEST(TextArena, ALargeTextFirstDoesNotSpoilTheNext) {
  TextArena arena;
  const std::string large(400000, 'x');
  const std::string_view a = arena.Copy(large), b = arena.Copy("small"), c = arena.Copy(large),
                         d = arena.Copy("more");
  EXPECT_TRUE(a == large && c == large);
  EXPECT_EQ(b, "small");
  EXPECT_EQ(d, "more");
}

}  // namespace
}  // namespace nl
