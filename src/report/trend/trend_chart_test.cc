// SPDX-License-Identifier: Apache-2.0
#include "report/trend/trend_chart.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include <fmt/format.h>

#include "base/terminal.h"

namespace nl {
namespace {

ChartStyle Style(int width) {
  ChartStyle style;
  style.width = width;
  style.left = "2025-01-01";
  style.right = "2025-03-01";
  style.label = [](double v) { return fmt::format("{:.1f} ms", v); };
  return style;
}

std::vector<std::string> ChartLines(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

TEST(TrendChart, FitsTheWidthForAnyNumberOfRuns) {
  for (const size_t runs : {1u, 2u, 7u, 60u, 61u, 500u, 2000u}) {
    std::vector<ChartPoint> points;
    for (size_t i = 0; i < runs; ++i)
      points.push_back({100.0 + std::sin(static_cast<double>(i)), 100, i == runs / 2});
    for (const int width : {40, 80, 120}) {
      const std::vector<std::string> lines = ChartLines(DrawChart(points, Style(width)));
      ASSERT_EQ(lines.size(), 10u);
      for (const std::string& line : lines) EXPECT_LE(DisplayWidth(line), width) << runs << "\n" << line;
    }
  }
}

TEST(TrendChart, DrawsValuesLevelsAndChanges) {
  std::vector<ChartPoint> points;
  for (int i = 0; i < 10; ++i) points.push_back({i < 5 ? 100.0 : 200.0, i < 5 ? 100.0 : 200.0, i == 5});
  const std::vector<std::string> lines = ChartLines(DrawChart(points, Style(60)));
  EXPECT_NE(lines[0].find("200.0 ms │"), std::string::npos);
  EXPECT_NE(lines[0].find("•───•"), std::string::npos) << lines[0];
  EXPECT_NE(lines[7].find("100.0 ms │•───•"), std::string::npos) << lines[7];
  for (int row = 1; row < 7; ++row) EXPECT_NE(lines[static_cast<size_t>(row)].find("┊"), std::string::npos);
  EXPECT_NE(lines[9].find("2025-01-01"), std::string::npos);
  EXPECT_NE(lines[9].find("2025-03-01"), std::string::npos);
}

TEST(TrendChart, AnOutlierDoesNotFlattenTheRest) {
  std::vector<ChartPoint> points;
  for (int i = 0; i < 40; ++i) points.push_back({100.0 + i % 5, 102, false});
  points[20].value = 1e6;
  const std::string chart = DrawChart(points, Style(80));
  EXPECT_NE(chart.find("▲"), std::string::npos) << chart;
  EXPECT_EQ(chart.find("1000000"), std::string::npos) << chart;
}

TEST(TrendChart, ConstantAndEmptyHistories) {
  EXPECT_EQ(DrawChart({}, Style(80)), "");
  EXPECT_NE(DrawChart({{0, 0, false}, {0, 0, false}}, Style(80)).find("•"), std::string::npos);
  EXPECT_NE(DrawChart({{5, 5, false}}, Style(80)).find("•"), std::string::npos);
}

}  // namespace
}  // namespace nl
