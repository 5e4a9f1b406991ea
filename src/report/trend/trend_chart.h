// SPDX-License-Identifier: Apache-2.0
#pragma once
// A metric over runs as a chart of text: one column per run (or per few runs), a dot for its
// value, a line for its level, a bar where the level changed.
// Thread rule: pure functions.

#include <functional>
#include <string>
#include <vector>

namespace nl {

struct ChartPoint {
  double value = 0;
  double level = 0;     // median between the change points around it
  bool change = false;  // first of a new level
};

struct ChartStyle {
  int width = 80, height = 8;
  std::string left, right;                   // labels below the axis: first and last date
  std::function<std::string(double)> label;  // of the value axis
};

// Empty for no points. Outliers are drawn at the edge as an arrow.
std::string DrawChart(const std::vector<ChartPoint>& points, const ChartStyle& style);

}  // namespace nl
