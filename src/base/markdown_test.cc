// SPDX-License-Identifier: Apache-2.0
#include "base/markdown.h"

#include <gtest/gtest.h>

namespace nl {
namespace {

TEST(Markdown, TextReadsAsItWasWritten) {
  EXPECT_EQ(MarkdownText("plain text, 100 %"), "plain text, 100 %");
  EXPECT_EQ(MarkdownText("a|b"), "a\\|b");
  EXPECT_EQ(MarkdownText("`x`"), "\\`x\\`");
  EXPECT_EQ(MarkdownText("*a* _b_ ~c~ [d] #e $f$"), "\\*a\\* \\_b\\_ \\~c\\~ \\[d\\] \\#e \\$f\\$");
  EXPECT_EQ(MarkdownText("back\\slash"), "back\\\\slash");
}

TEST(Markdown, TextCannotInjectHtml) { EXPECT_EQ(MarkdownText("<script>&amp;"), "&lt;script&gt;&amp;amp;"); }

TEST(Markdown, TextStaysOnItsLine) { EXPECT_EQ(MarkdownText("a\nb\r"), "a\\\\nb\\\\r"); }

TEST(Markdown, CodeInATableKeepsItsCell) { EXPECT_EQ(MarkdownCode("--format a|b_c"), "`--format a\\|b_c`"); }

}  // namespace
}  // namespace nl
