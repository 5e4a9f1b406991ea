// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

#include <gtest/gtest.h>

namespace nl {
namespace {

constexpr const char* kReplacement = "\xef\xbf\xbd";

TEST(Utf8, AcceptsEveryLengthAtItsLimits) {
  for (const char* text : {"", "plain", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf",
                           "\xee\x80\x80", "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(IsUtf8(text)) << text;
    EXPECT_EQ(ValidUtf8(text), text);
  }
  EXPECT_TRUE(IsUtf8(std::string_view("a\0b", 3)));
}

TEST(Utf8, RefusesOverlongSurrogateTooLargeAndCut) {
  for (const char* text :
       {"\x80", "\xc0\xaf", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xfe", "a\xc3", "\xe2\x82", "\xf0\x9f\x98"})
    EXPECT_FALSE(IsUtf8(text));
}

TEST(ValidUtf8, ReplacesEachBadByteAndKeepsTheRest) {
  EXPECT_EQ(ValidUtf8("a\xff"
                      "b"),
            std::string("a") + kReplacement + "b");
  EXPECT_EQ(ValidUtf8("\xe2\x82"), std::string(kReplacement) + kReplacement);
  EXPECT_EQ(ValidUtf8("\xc3(\xc3\xa9"), std::string(kReplacement) + "(\xc3\xa9");
}

TEST(ValidUtf8, WhateverComesInValidTextComesOut) {
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      const char text[] = {static_cast<char>(a), static_cast<char>(b), 'x'};
      ASSERT_TRUE(IsUtf8(ValidUtf8({text, 3}))) << a << " " << b;
    }
  }
}

}  // namespace
}  // namespace nl
