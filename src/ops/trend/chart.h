// SPDX-License-Identifier: Apache-2.0
#pragma once
// A metric over runs as a small picture of text: one column per run (or per few), a dot
// for its value, a line for the level it belongs to, a bar where the level changed.
// Thread rule: pure functions.

#include <functional>
#include <string>
#include <vector>

namespace nl::ops::trend {

struct ChartPoint {
  double value = 0;
  double level = 0;     // median of the stretch between change points
  bool change = false;  // first of a new level
};

struct ChartStyle {
  int width = 80, height = 8;
  std::string left, right;                   // below the axis: when it begins and ends
  std::function<std::string(double)> label;  // a value for the axis
};

// Empty for no points. Values far outside are drawn at the edge as an arrow.
std::string DrawChart(const std::vector<ChartPoint>& points, const ChartStyle& style);

}  // namespace nl::ops::trend
