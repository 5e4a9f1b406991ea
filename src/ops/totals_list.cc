// SPDX-License-Identifier: Apache-2.0
#include "ops/totals_list.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/human.h"
#include "base/record_json.h"
#include "report/text_table.h"

namespace nl {

void TotalsParams::Bind(ParamBinder& b, const std::vector<std::string>& sorts) {
  sort = sorts.front();
  run.BindRun(b);
  b.Add("sort", sort, "Order of the rows, largest first (name: alphabetical)").Choices(sorts);
  b.Add("limit", limit, "Rows to show; 0 shows all").Range(0, 1e9);
  run.BindPhaseOfTotals(b);
  b.Add("by_shape", by_shape, "One row per name and shape instead of one per name");
  b.Add("device", device, "Only kernels of this device number; -1 takes all").Range(-1, 1e6);
  b.Add("stream", stream, "Only kernels of this stream number; -1 takes all").Range(-1, 9e15);
  b.Add("md", md, "Print a Markdown table");
  b.Add("csv", csv, "Print CSV");
}

TotalsFilter TotalsParams::Filter() const {
  TotalsFilter filter;
  filter.by_shape = by_shape;
  filter.by_type = by_type;
  if (device >= 0) filter.device = device;
  if (stream >= 0) filter.stream = stream;
  return filter;
}

Result<TotalsRun> OpenTotals(const OpContext& context, const TotalsParams& params) {
  if (params.run.phase == "all") {
    NL_ASSIGN(OpenRun run, OpenSnapshot(context, params.run.run));
    return TotalsRun{std::move(run), params.Filter(), std::nullopt};
  }
  NL_ASSIGN(OpenAnalysis open, Analyze(context, params.run));
  TotalsRun out{std::move(open.run), params.Filter(), open.phase};
  out.filter.part = open.analysis->options().part;
  return out;
}

namespace {

void SortStats(std::vector<NameStats>& stats, const std::string& by) {
  const auto key = [&by](const NameStats& s) -> double {
    if (by == "total") return static_cast<double>(s.total_ns);
    if (by == "self") return static_cast<double>(s.self_ns);
    if (by == "calls") return static_cast<double>(s.calls);
    if (by == "mean") return static_cast<double>(s.total_ns) / static_cast<double>(s.calls);
    return static_cast<double>(s.device_ns);
  };
  std::stable_sort(stats.begin(), stats.end(), [&](const NameStats& a, const NameStats& b) {
    return by == "name" ? a.name < b.name : key(a) > key(b);
  });
}

// A column of the table, bound to the members it shows.
struct TotalsColumn {
  TextColumn column;
  std::string (*cell)(const NameTotals&);
};

std::string ShareCell(const NameTotals& r) { return r.share ? fmt::format("{:.1f} %", 100 * *r.share) : "-"; }

// On a narrow screen the names matter more than the last columns.
std::vector<TotalsColumn> ColumnsOf(const std::vector<NameTotals>& rows, TotalsKind kind, bool narrow) {
  const bool ops = kind == TotalsKind::kOperators;
  const auto any = [&rows](auto has) { return std::any_of(rows.begin(), rows.end(), has); };
  const auto number = [](const char* header, std::string (*cell)(const NameTotals&)) {
    return TotalsColumn{{header, Align::kRight, false, 0}, cell};
  };
  const auto total = number("TOTAL", [](const NameTotals& r) { return HumanMs(r.total_ms); });
  const auto share = number("SHARE", ShareCell);
  const auto calls = number("CALLS", [](const NameTotals& r) { return HumanCount(r.calls); });
  const auto mean = number("MEAN", [](const NameTotals& r) { return HumanMs(r.mean_ms); });
  const auto p95 = number("P95", [](const NameTotals& r) { return HumanMs(r.p95_ms); });
  std::vector<TotalsColumn> out{
      {{ops ? "OPERATOR" : "KERNEL", Align::kLeft, true, 16}, [](const NameTotals& r) { return r.name; }}};
  if (any([](const NameTotals& r) { return r.shapes.has_value(); })) {
    out.push_back({{ops ? "INPUT SHAPES" : "GRID / BLOCK", Align::kLeft, true, 12},
                   [](const NameTotals& r) { return r.shapes.value_or(""); }});
  }
  if (!ops) {
    if (!narrow) {
      out.push_back(
          {{"FAMILY", Align::kLeft, false, 0}, [](const NameTotals& r) { return r.family.value_or(""); }});
    }
    out.insert(out.end(), {total, share, calls, mean, p95});
  } else {
    const auto self = number("SELF", [](const NameTotals& r) { return HumanMs(r.self_ms); });
    // Without a device the share is of host time.
    if (any([](const NameTotals& r) { return r.gpu_ms > 0; })) {
      const auto gpu = number("GPU", [](const NameTotals& r) { return HumanMs(r.gpu_ms); });
      out.insert(out.end(), {gpu, share, total, self, calls, mean});
    } else {
      out.insert(out.end(), {total, share, self, calls, mean, p95});
    }
  }
  if (narrow) out.pop_back();
  return out;
}

TextTable MakeTable(const std::vector<NameTotals>& rows, TotalsKind kind, int width) {
  const std::vector<TotalsColumn> columns = ColumnsOf(rows, kind, width < 100);
  std::vector<TextColumn> heads;
  for (const TotalsColumn& c : columns) heads.push_back(c.column);
  TextTable table(heads);
  for (const NameTotals& row : rows) {
    std::vector<std::string> cells;
    for (const TotalsColumn& c : columns) cells.push_back(c.cell(row));
    table.AddRow(std::move(cells));
  }
  return table;
}

// CSV has every member under its name; the text table only what fits a screen.
std::string TotalsCsv(const std::vector<NameTotals>& rows) {
  std::vector<TextColumn> columns;
  for (const FieldInfo& field : RecordOf<NameTotals>().fields)
    columns.push_back({field.name, Align::kLeft, false, 0});
  TextTable table(columns);
  for (const NameTotals& row : rows) {
    std::vector<std::string> cells;
    for (const Json& v : ToDocument(row))
      cells.push_back(v.is_null() ? "" : v.is_string() ? v.get<std::string>() : DumpJson(v));
    table.AddRow(std::move(cells));
  }
  return table.Csv();
}

}  // namespace

std::vector<NameTotals> ListOf(std::vector<NameStats> stats, TotalsKind kind, const TotalsParams& params) {
  const TotalsWhole whole = kind == TotalsKind::kOperators ? WholeOfOperators(stats) : WholeOfKernels(stats);
  SortStats(stats, params.sort);
  return RowsOf(stats, whole, static_cast<size_t>(params.limit));
}

std::string TotalsRaw(const std::vector<NameTotals>& rows, TotalsKind kind, const TotalsParams& params) {
  constexpr int kAnyWidth = 1000;
  if (params.csv) return TotalsCsv(rows);
  return params.md ? MakeTable(rows, kind, kAnyWidth).Markdown() : "";
}

std::string TotalsText(const std::vector<NameTotals>& rows, int64_t rows_total, TotalsKind kind,
                       const TextStyle& style) {
  if (rows.empty())
    return kind == TotalsKind::kOperators ? "the run has no operators\n" : "the run has no kernels\n";
  std::string out = MakeTable(rows, kind, style.width).Render(style.width, style.color);
  if (rows_total > static_cast<int64_t>(rows.size()))
    out += fmt::format("{} of {} rows; --limit 0 shows all\n", rows.size(), rows_total);
  int64_t calls = 0, timed = 0;
  for (const NameTotals& row : rows) {
    calls += row.calls;
    timed += row.timed_calls.value_or(row.calls);
  }
  if (timed < calls)
    out += fmt::format(
        "Operators were observed in some steps only: host times are those of {} of {} calls, the others are "
        "inferred from the same launches.\n",
        HumanCount(timed), HumanCount(calls));
  return out;
}

}  // namespace nl
