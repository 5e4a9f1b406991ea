// SPDX-License-Identifier: Apache-2.0
#include "report/trend/trend_chart.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/terminal.h"

namespace nl {

namespace {

constexpr int kWidest = 110;
constexpr int kMostColumnsPerRun = 4;
// Values farther outside the central 90 % than this many times its width are drawn at the edge.
constexpr double kFarOut = 1;

double Quantile(const std::vector<double>& sorted, double share) {
  return sorted[static_cast<size_t>(std::lround(share * static_cast<double>(sorted.size() - 1)))];
}

struct ValueScale {
  double low, high;
};

ValueScale MakeScale(const std::vector<ChartPoint>& points) {
  std::vector<double> values;
  for (const ChartPoint& p : points) values.push_back(p.value);
  std::sort(values.begin(), values.end());
  ValueScale out{values.front(), values.back()};
  const double inner_low = Quantile(values, 0.05);
  const double inner = Quantile(values, 0.95) - inner_low;
  if (inner > 0) {
    out.low = std::max(out.low, inner_low - kFarOut * inner);
    out.high = std::min(out.high, inner_low + inner + kFarOut * inner);
  }
  if (out.high > out.low) return out;
  const double around = std::max(std::fabs(out.low) * 0.01, 1e-9);
  return {out.low - around, out.high + around};
}

// One column of the chart.
struct Column {
  double value, level;
  bool change;
};

std::vector<Column> MakeColumns(const std::vector<ChartPoint>& points, int width) {
  const size_t per_column = (points.size() + static_cast<size_t>(width) - 1) / static_cast<size_t>(width);
  std::vector<Column> out;
  for (size_t first = 0; first < points.size(); first += per_column) {
    const size_t last = std::min(points.size(), first + per_column);
    std::vector<double> values;
    Column column{0, points[last - 1].level, false};
    for (size_t i = first; i < last; ++i) {
      values.push_back(points[i].value);
      column.change = column.change || points[i].change;
    }
    std::sort(values.begin(), values.end());
    column.value = values[values.size() / 2];
    out.push_back(column);
  }
  return out;
}

int RowOf(double value, const ValueScale& scale, int height) {
  const double at = (scale.high - value) / (scale.high - scale.low) * (height - 1);
  return std::clamp(static_cast<int>(std::lround(at)), 0, height - 1);
}

}  // namespace

std::string DrawChart(const std::vector<ChartPoint>& points, const ChartStyle& style) {
  if (points.empty()) return "";
  const ValueScale scale = MakeScale(points);
  std::vector<std::string> labels(static_cast<size_t>(style.height));
  for (const int row : {0, style.height / 2, style.height - 1}) {
    labels[static_cast<size_t>(row)] =
        style.label(scale.high - (scale.high - scale.low) * row / (style.height - 1));
  }
  int label_width = 0;
  for (const std::string& label : labels) label_width = std::max(label_width, DisplayWidth(label));
  const int plot = std::max(10, std::min(style.width, kWidest) - label_width - 3);
  const std::vector<Column> columns = MakeColumns(points, plot);
  const int step = std::clamp(plot / static_cast<int>(columns.size()), 1, kMostColumnsPerRun);
  const int drawn = static_cast<int>(columns.size()) * step;

  std::string out;
  for (int row = 0; row < style.height; ++row) {
    const std::string& label = labels[static_cast<size_t>(row)];
    std::string line =
        std::string(static_cast<size_t>(label_width - DisplayWidth(label)), ' ') + label + " │";
    for (const Column& c : columns) {
      const bool far = c.value > scale.high || c.value < scale.low;
      const bool on_level = RowOf(c.level, scale, style.height) == row;
      const char* mark = c.change ? "┊" : on_level ? "─" : " ";
      if (RowOf(c.value, scale, style.height) == row) mark = !far ? "•" : c.value > scale.high ? "▲" : "▼";
      line += mark;
      for (int i = 1; i < step; ++i) line += on_level ? "─" : " ";
    }
    while (line.ends_with(' ')) line.pop_back();
    out += line + "\n";
  }
  const std::string margin(static_cast<size_t>(label_width + 1), ' ');
  out += margin + "└";
  for (int i = 0; i < drawn; ++i) out += "─";
  const int gap = std::max(1, drawn + 1 - DisplayWidth(style.left) - DisplayWidth(style.right));
  out += "\n" + margin + style.left;
  if (columns.size() > 1) out += std::string(static_cast<size_t>(gap), ' ') + style.right;
  return out + "\n";
}

}  // namespace nl
