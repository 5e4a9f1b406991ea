// SPDX-License-Identifier: Apache-2.0
#include "base/terminal.h"

#include <fcntl.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace nl {
namespace {

TEST(PrintableText, EscapeSequencesBecomeVisibleText) {
  EXPECT_EQ(PrintableText("a\x1b[2Jb"), "a\\u001b[2Jb");
  EXPECT_EQ(PrintableText("csi \u009b31m"), "csi \\u009b31m");
  EXPECT_EQ(PrintableText("\x7f\r\n\t"), "\\u007f\\r\\n\\t");
  EXPECT_EQ(PrintableText(std::string_view("a\0b", 3)), "a\\u0000b");
}

TEST(PrintableText, DirectionOverridesBecomeVisibleText) {
  EXPECT_EQ(PrintableText("gemm\u202Egnp.exe"), "gemm\\u202egnp.exe");
  EXPECT_EQ(PrintableText("\u2066x\u2069"), "\\u2066x\\u2069");
}

TEST(PrintableText, BytesThatAreNotUtf8AreReplacedOneByOne) {
  EXPECT_EQ(PrintableText("\xff\xfe"), "\uFFFD\uFFFD");
  EXPECT_EQ(PrintableText("\xc0\xaf"), "\uFFFD\uFFFD") << "overlong form";
  EXPECT_EQ(PrintableText("\xed\xa0\x80"), "\uFFFD\uFFFD\uFFFD") << "surrogate";
  EXPECT_EQ(PrintableText("x\xe2\x82"), "x\uFFFD\uFFFD") << "cut short";
  EXPECT_EQ(PrintableText("µ 漢字 🚀"), "µ 漢字 🚀");
}

TEST(PrintableText, KeepsOnlyWhatItIsToldToKeep) {
  EXPECT_EQ(PrintableText("a\nb\tc\x1b[1m", Keep::kLines), "a\nb\tc\\u001b[1m");
  EXPECT_EQ(PrintableText("\x1b[1;31mred\x1b[0m\x1b[2J\x1b]0;t\a", Keep::kLinesAndColor),
            "\x1b[1;31mred\x1b[0m\\u001b[2J\\u001b]0;t\\u0007");
}

TEST(DisplayWidth, CountsColumnsNotBytes) {
  EXPECT_EQ(DisplayWidth("abc"), 3);
  EXPECT_EQ(DisplayWidth("µs"), 2);
  EXPECT_EQ(DisplayWidth("漢字"), 4);
  EXPECT_EQ(DisplayWidth("e\u0301"), 1);
  EXPECT_EQ(DisplayWidth("🚀"), 2);
}

TEST(CutMiddle, NeverExceedsTheWidthAndKeepsBothEnds) {
  EXPECT_EQ(CutMiddle("abcdef", 6), "abcdef");
  EXPECT_EQ(CutMiddle("abcdefgh", 5), "ab…gh");
  EXPECT_EQ(CutMiddle("abcdefgh", 1), "…");
  EXPECT_EQ(CutMiddle("abcdefgh", 0), "");
  for (int width = 0; width < 16; ++width) {
    EXPECT_LE(DisplayWidth(CutMiddle("漢字e\u0301漢字🚀abc漢字", width)), width);
  }
}

TEST(Wrap, BreaksAtBlanksAndIndents) {
  EXPECT_EQ(Wrap("one two three", 9, 2), "one two\n  three");
  EXPECT_EQ(Wrap("unbreakable_word x", 5, 0), "unbreakable_word\nx");
}

TEST(ColorAllowed, SettingDecidesAndAutoNeedsATerminal) {
  const int fd = open("/dev/null", O_WRONLY);
  ASSERT_GE(fd, 0);
  EXPECT_TRUE(ColorAllowed("always", fd));
  EXPECT_FALSE(ColorAllowed("never", fd));
  EXPECT_FALSE(ColorAllowed("auto", fd));
  close(fd);
}

}  // namespace
}  // namespace nl
