// SPDX-License-Identifier: Apache-2.0
#include "report/text_table.h"

#include <algorithm>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "base/terminal.h"

namespace nl {
namespace {

TextTable Sample() {
  TextTable table({{"kernel", Align::kLeft, true, 8}, {"calls", Align::kRight}, {"time", Align::kRight}});
  table.AddRow({"void at::native::vectorized_elementwise_kernel<4, float>(int)", "12", "1.5 ms"});
  table.AddRow({"漢字", "1,000", "9 ns"});
  return table;
}

TEST(TextTable, AlignsByDisplayColumns) {
  TextTable table({{"name"}, {"n", Align::kRight}});
  table.AddRow({"漢字", "1"});
  table.AddRow({"µ", "22"});
  EXPECT_EQ(table.Render(0, false),
            "name   n\n"
            "漢字   1\n"
            "µ     22\n");
}

TEST(TextTable, EveryLineFitsWhenAColumnMayShrink) {
  for (int width = 30; width < 90; width += 7) {
    std::istringstream lines(Sample().Render(width, false));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(DisplayWidth(line), width) << line;
  }
  EXPECT_NE(Sample().Render(40, false).find("…"), std::string::npos);
  EXPECT_EQ(Sample().Render(0, false).find("…"), std::string::npos);
}

TEST(TextTable, ColumnsThatMayNotShrinkStayWhole) {
  const std::string text = Sample().Render(10, false);
  EXPECT_NE(text.find("1,000"), std::string::npos);
  EXPECT_NE(text.find("1.5 ms"), std::string::npos);
}

TEST(TextTable, TwoShrinkingColumnsShareTheCut) {
  TextTable table({{"a", Align::kLeft, true, 4}, {"b", Align::kLeft, true, 4}});
  table.AddRow({std::string(50, 'x'), std::string(20, 'y')});
  EXPECT_NE(table.Render(42, false).find(std::string(20, 'y')), std::string::npos)
      << "the wider column gives first";
  std::istringstream lines(table.Render(22, false));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(DisplayWidth(line), 22);
}

TEST(TextTable, HostileCellsCannotCommandTheTerminalOrAddLines) {
  TextTable table({{"name\x1b[2J"}, {"n"}});
  table.AddRow({"evil\x1b]0;owned\a\r\nsecond\u202E", "1"});
  const std::string text = table.Render(0, false);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\r'), std::string::npos);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
}

TEST(TextTable, ColorOnlyTouchesTheHeader) {
  TextTable table({{"h"}});
  table.AddRow({"v"});
  EXPECT_EQ(table.Render(0, true), "\x1b[1mh\x1b[0m\nv\n");
}

TEST(TextTable, MarkdownCellsCannotBreakTheTableOrInjectHtml) {
  TextTable table({{"name"}, {"n", Align::kRight}});
  table.AddRow({"a|b\n<script>`x`\\", "1"});
  EXPECT_EQ(table.Markdown(), "| name | n |\n|---|---:|\n| a\\|b\\\\n&lt;script&gt;\\`x\\`\\\\ | 1 |\n");
}

TEST(TextTable, CsvTextThatASpreadsheetWouldRunGetsAnApostrophe) {
  TextTable table({{"=cmd", Align::kLeft, true, 8}, {"n", Align::kRight, false, 8}});
  for (const char* name : {"=1+1", "+x", "-x", "@x", "\tx", "a=b", "", "-3", "+1.5e3", "-3+1", "-inf"})
    table.AddRow({name, "-1"});
  table.AddRow({"=a,b", "+2"});
  EXPECT_EQ(table.Csv(),
            "'=cmd,n\n'=1+1,-1\n'+x,-1\n'-x,-1\n'@x,-1\n'\tx,-1\na=b,-1\n,-1\n-3,-1\n+1.5e3,-1\n'-3+1,-1\n-"
            "inf,-1\n\"'=a,b\",+2\n");
}

TEST(TextTable, CsvQuotesAsRfc4180AndEndsLinesWithLf) {
  TextTable table({{"name"}, {"n"}});
  table.AddRow({"f<int, 4>", "1"});
  table.AddRow({"say \"hi\"\nthere", "2"});
  EXPECT_EQ(table.Csv(), "name,n\n\"f<int, 4>\",1\n\"say \"\"hi\"\"\nthere\",2\n");
}

TEST(TextTable, RowsOfTheWrongLengthAreMadeToFit) {
  TextTable table({{"a"}, {"b"}});
  table.AddRow({"1"});
  table.AddRow({"1", "2", "3"});
  EXPECT_EQ(table.Csv(), "a,b\n1,\n1,2\n");
}

}  // namespace
}  // namespace nl
