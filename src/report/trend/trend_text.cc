// SPDX-License-Identifier: Apache-2.0
// A trend for a terminal: the verdict, the chart, the changes of level, the newest runs.

#include <algorithm>

#include <fmt/format.h>

#include "base/human.h"
#include "base/plural.h"
#include "base/terminal.h"
#include "report/metric_text.h"
#include "report/text_table.h"
#include "report/trend/trend_chart.h"
#include "report/trend/trend_reply.h"

namespace nl {

namespace {

constexpr size_t kTrendRows = 10;
constexpr size_t kLeastRuns = 6;  // fewer cannot show a change of level (change_points.h: three on each side)

std::vector<ChartPoint> PointsOf(const TrendReply& r) {
  std::vector<ChartPoint> points;
  size_t next = 0;
  for (size_t i = 0; i < r.runs.size(); ++i) {
    const bool change =
        next < r.change_points.size() && r.change_points[next].index == static_cast<int64_t>(i);
    next += change ? 1 : 0;
    if (r.runs[i].value) points.push_back({*r.runs[i].value, r.runs[i].level.value_or(0), change});
  }
  return points;
}

std::string TrendVerdict(const TrendReply& r, size_t with_value) {
  if (with_value == 0) {
    return fmt::format("{}: no value in {}", r.metric, Counted(static_cast<int64_t>(r.runs.size()), "run"));
  }
  std::string out = fmt::format("{} over {} run{}", r.metric, with_value, with_value == 1 ? "" : "s");
  const TrendWorkload workload = r.workload.value_or(TrendWorkload());
  if (!workload.model.empty()) out += " of " + workload.model;
  if (!workload.device.empty()) out += " on " + workload.device;
  const size_t changes = r.change_points.size();
  out += changes == 0 ? ": no change of level"
                      : fmt::format(": {} change{} of level", changes, changes == 1 ? "" : "s");
  if (with_value < kLeastRuns)
    out += fmt::format(" (needs at least {} runs; --model and --tag select the runs)", kLeastRuns);
  if (r.left_out > 0)
    out += fmt::format("; {} run{} on another device, precision or backend left out", r.left_out,
                       r.left_out == 1 ? "" : "s");
  return out + ".";
}

std::string ChartText(const TrendReply& r, const std::vector<ChartPoint>& points, int width) {
  if (points.empty()) return "";
  const auto has_value = [](const TrendRun& run) { return run.value.has_value(); };
  ChartStyle chart;
  chart.width = width;
  chart.left = std::find_if(r.runs.begin(), r.runs.end(), has_value)->created_at.substr(0, 10);
  chart.right = std::find_if(r.runs.rbegin(), r.runs.rend(), has_value)->created_at.substr(0, 10);
  chart.label = [&](double v) { return MetricText(v, r.unit); };
  return "\n" + DrawChart(points, chart);
}

std::string ChangesText(const TrendReply& r, int width) {
  std::string out;
  for (const TrendChange& c : r.change_points) {
    const std::string line =
        fmt::format("┊ {} {} {}: {} -> {}{}, p {:.2g}", c.created_at.substr(0, 10), c.short_id,
                    c.direction == TrendDirection::kRegressed ? "regressed" : "improved",
                    MetricText(c.before_median, r.unit), MetricText(c.after_median, r.unit),
                    c.change ? fmt::format(" ({:+.2f} %)", 100 * *c.change) : "", c.p_value);
    out += Wrap(line, width, 2) + "\n";
  }
  return out.empty() ? "" : "\n" + out;
}

std::string NewestRuns(const TrendReply& r, int width, bool color) {
  TextTable table({{"RUN", Align::kLeft, false, 0},
                   {"CREATED", Align::kLeft, false, 0},
                   {"VALUE", Align::kRight, false, 0},
                   {"VS LEVEL", Align::kRight, false, 0},
                   {"FILE", Align::kLeft, true, 12}});
  const size_t count = r.runs.size();
  for (size_t i = count > kTrendRows ? count - kTrendRows : 0; i < count; ++i) {
    const TrendRun& run = r.runs[i];
    std::string created = run.created_at.substr(0, 16);
    std::replace(created.begin(), created.end(), 'T', ' ');
    const double level = run.level.value_or(0);
    table.AddRow({run.short_id, created, MetricText(run.value, r.unit),
                  run.value && level != 0 ? fmt::format("{:+.1f} %", 100 * (*run.value / level - 1)) : "-",
                  run.source_name});
  }
  std::string out = "\n" + table.Render(width, color);
  if (count > kTrendRows)
    out += fmt::format("the last {} of {} runs\n", kTrendRows, HumanCount(static_cast<int64_t>(count)));
  return out;
}

// "baseline main: 12.1 ms (median of 3 runs); the newest run +2.4 %".
std::string BaselinesText(const TrendReply& r, int width) {
  const auto newest =
      std::find_if(r.runs.rbegin(), r.runs.rend(), [](const TrendRun& run) { return run.value.has_value(); });
  std::string out;
  for (const TrendBaseline& b : r.baselines) {
    std::string line = fmt::format("baseline {}: ", b.name);
    if (!b.value) {
      line += fmt::format("no value: {}", b.reason.value_or("not known"));
    } else {
      line += MetricText(*b.value, r.unit);
      if (b.runs > 1) line += fmt::format(" (median of {} runs)", b.runs);
      if (newest != r.runs.rend() && *b.value != 0)
        line += fmt::format("; the newest run {:+.1f} %", 100 * (*newest->value / *b.value - 1));
    }
    out += Wrap(PrintableText(line), width, 2) + "\n";
  }
  return out.empty() ? "" : "\n" + out;
}

std::string UnreadableText(const TrendReply& r, int width) {
  std::string out;
  for (const TrendUnreadable& group : r.unreadable) {
    const size_t count = group.runs.size();
    out +=
        Wrap(PrintableText(fmt::format("{} run{} could not be read: {} ({}{})", count, count == 1 ? "" : "s",
                                       group.reason, group.runs[0], count > 1 ? ", ..." : "")),
             width, 2) +
        "\n";
  }
  return out.empty() ? "" : "\n" + out;
}

}  // namespace

std::string TrendText(const TrendReply& r, int width, bool color) {
  if (r.runs.empty()) return "no runs match\n";
  const std::vector<ChartPoint> points = PointsOf(r);
  return Wrap(PrintableText(TrendVerdict(r, points.size())), width, 2) + "\n" + ChartText(r, points, width) +
         ChangesText(r, width) + BaselinesText(r, width) + NewestRuns(r, width, color) +
         UnreadableText(r, width);
}

}  // namespace nl
