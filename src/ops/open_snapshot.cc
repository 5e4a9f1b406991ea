// SPDX-License-Identifier: Apache-2.0
#include "ops/open_snapshot.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "base/file_ops.h"
#include "base/human.h"
#include "report/text_table.h"

namespace nl {

Result<OpenRun> OpenSnapshot(const OpContext& context, const std::string& ref) {
  OpenRun out;
  NL_ASSIGN(out.store, OpenStore(context, Store::Mode::kReadOnly));
  NL_ASSIGN(out.run, out.store->catalog().Resolve(ref));
  NL_ASSIGN(std::unique_ptr<SqlSession> session, OpenSql(context, *out.store, {out.run}));
  out.snapshot = std::make_unique<Snapshot>(std::move(session), context.cancelled);
  return out;
}

Result<Json> ReadJsonFile(const std::string& path) {
  NL_ASSIGN(const std::string text, ReadWholeFile(path));
  Result<Json> json = ParseJson(text);
  if (!json.ok()) return std::move(json).error().At(path);
  return json;
}

Result<Json> ReadDocument(const OpenRun& run) {
  return ReadJsonFile(fmt::format("{}/{}", run.store->RunPath(run.run.run_id), kRunDocumentFile));
}

void TotalsParams::Bind(ParamBinder& b, const std::vector<std::string>& sorts) {
  sort = sorts.front();
  b.Add("run", run, "Run to look at").Positional().Run();
  b.Add("sort", sort, "Order of the rows, largest first (name: alphabetical)").Choices(sorts);
  b.Add("limit", limit, "Rows to show; 0 shows all").Range(0, 1e9);
  b.Add("by_shape", by_shape, "One row per name and shape instead of one per name");
  b.Add("device", device, "Only kernels of this device index; -1 takes all").Range(-1, 1e6);
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

Json TotalsSchema(TotalsKind kind) {
  const char* list = kind == TotalsKind::kOperators ? "operators" : "kernels";
  Json schema = SchemaFromText(R"({"type": "object", "required": ["run_id", "rows_total"], "properties": {
    "run_id": {"type": "string"}, "rows_total": {"type": "integer", "description": "rows before --limit"}}})");
  schema["required"].push_back(list);
  schema["properties"][list] = SchemaFromText(R"({"type": "array", "items": {"type": "object",
    "required": ["name", "raw_name", "calls", "total_ms", "mean_ms", "share"], "properties": {
      "name": {"type": "string"}, "raw_name": {"type": "string"}, "family": {"type": ["string", "null"]},
      "device": {"type": ["integer", "null"]}, "calls": {"type": "integer"}, "total_ms": {"type": "number"},
      "self_ms": {"type": "number"}, "gpu_ms": {"type": "number"}, "gpu_total_ms": {"type": "number"},
      "mean_ms": {"type": "number"}, "p50_ms": {"type": "number"}, "p95_ms": {"type": "number"},
      "share": {"type": ["number", "null"], "description": "part of all device time (of host self time without a device), 0..1"},
      "shapes": {"type": ["string", "null"]}}}})");
  return schema;
}

TotalsWhole WholeOf(const std::vector<NameStats>& stats, TotalsKind kind) {
  TotalsWhole device, host{0, true};
  for (const NameStats& s : stats) {
    device.ns += s.device_ns;
    host.ns += s.self_ns;
  }
  return device.ns == 0 && kind == TotalsKind::kOperators ? host : device;
}

Json NameStatsJson(const NameStats& s, const TotalsWhole& whole, TotalsKind kind) {
  const auto ms = [](double ns) { return ns / 1e6; };
  const auto n = [](int64_t ns) { return static_cast<double>(ns); };
  Json row{{"name", s.name}, {"raw_name", s.raw_name}};
  row["family"] = kind == TotalsKind::kKernels ? Json(s.family) : Json();
  row["device"] = s.device ? Json(*s.device) : Json();
  row["calls"] = s.calls;
  row["total_ms"] = ms(n(s.total_ns));
  row["self_ms"] = ms(n(s.self_ns));
  row["gpu_ms"] = ms(n(s.device_ns));
  row["gpu_total_ms"] = ms(n(s.device_all_ns));
  row["mean_ms"] = ms(n(s.total_ns) / n(s.calls));
  row["p50_ms"] = ms(s.p50_ns);
  row["p95_ms"] = ms(s.p95_ns);
  row["share"] = whole.ns > 0 ? Json(n(whole.on_host ? s.self_ns : s.device_ns) / n(whole.ns)) : Json();
  row["shapes"] = s.shapes.empty() ? Json() : Json(s.shapes);
  return row;
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

// On a narrow screen the names matter more than the last columns.
TextTable MakeTable(const Json& rows, TotalsKind kind, int width) {
  const bool ops = kind == TotalsKind::kOperators;
  const bool narrow = width < 100;
  const bool shapes =
      std::any_of(rows.begin(), rows.end(), [](const Json& r) { return !r["shapes"].is_null(); });
  std::vector<TextColumn> columns;
  columns.push_back({ops ? "OPERATOR" : "KERNEL", Align::kLeft, true, 16});
  if (shapes) columns.push_back({ops ? "INPUT SHAPES" : "GRID / BLOCK", Align::kLeft, true, 12});
  if (!ops && !narrow) columns.push_back({"FAMILY", Align::kLeft, false, 0});
  std::vector<const char*> numbers =
      ops ? std::vector<const char*>{"GPU", "SHARE", "TOTAL", "SELF", "CALLS", "MEAN"}
          : std::vector<const char*>{"TOTAL", "SHARE", "CALLS", "MEAN", "P95"};
  // Without a device the share is of host time.
  const bool device = std::any_of(rows.begin(), rows.end(), [](const Json& r) { return r["gpu_ms"] > 0; });
  if (ops && !device) numbers = {"TOTAL", "SHARE", "SELF", "CALLS", "MEAN", "P95"};
  if (narrow) numbers.pop_back();
  for (const char* name : numbers) columns.push_back({name, Align::kRight, false, 0});
  TextTable table(columns);
  for (const Json& r : rows) {
    const auto ms = [&r](const char* key) { return HumanMs(r[key].get<double>()); };
    const std::string share =
        r["share"].is_null() ? "-" : fmt::format("{:.1f} %", 100 * r["share"].get<double>());
    std::vector<std::string> cells{r["name"].get<std::string>()};
    if (shapes) cells.push_back(r["shapes"].is_null() ? "" : r["shapes"].get<std::string>());
    if (!ops && !narrow) cells.push_back(r["family"].get<std::string>());
    const std::string calls = HumanCount(r["calls"].get<int64_t>());
    std::vector<std::string> values =
        ops ? std::vector<std::string>{ms("gpu_ms"),  share, ms("total_ms"),
                                       ms("self_ms"), calls, ms("mean_ms")}
            : std::vector<std::string>{ms("total_ms"), share, calls, ms("mean_ms"), ms("p95_ms")};
    if (ops && !device) values = {ms("total_ms"), share, ms("self_ms"), calls, ms("mean_ms"), ms("p95_ms")};
    if (narrow) values.pop_back();
    std::move(values.begin(), values.end(), std::back_inserter(cells));
    table.AddRow(std::move(cells));
  }
  return table;
}

// CSV carries every field with its stable name; the text table only what fits a screen.
std::string Csv(const Json& rows) {
  static const std::vector<const char*> kFields = {
      "name",   "raw_name",     "family",  "device", "calls",  "total_ms", "self_ms",
      "gpu_ms", "gpu_total_ms", "mean_ms", "p50_ms", "p95_ms", "share",    "shapes"};
  std::vector<TextColumn> columns;
  for (const char* field : kFields) columns.push_back({field, Align::kLeft, false, 0});
  TextTable table(columns);
  for (const Json& row : rows) {
    std::vector<std::string> cells;
    for (const char* field : kFields) {
      const Json& v = row[field];
      cells.push_back(v.is_null() ? "" : v.is_string() ? v.get<std::string>() : DumpJson(v));
    }
    table.AddRow(std::move(cells));
  }
  return table.Csv();
}

}  // namespace

Reply TotalsReply(const OpenRun& run, std::vector<NameStats> stats, const TotalsParams& params,
                  TotalsKind kind) {
  const char* list = kind == TotalsKind::kOperators ? "operators" : "kernels";
  const TotalsWhole whole = WholeOf(stats, kind);
  SortStats(stats, params.sort);
  Reply reply;
  reply.json["run_id"] = run.run.run_id;
  reply.json["rows_total"] = stats.size();
  if (params.limit > 0 && stats.size() > static_cast<size_t>(params.limit))
    stats.resize(static_cast<size_t>(params.limit));
  reply.json[list] = Json::array();
  for (const NameStats& s : stats) reply.json[list].push_back(NameStatsJson(s, whole, kind));
  if (params.csv)
    reply.raw = Csv(reply.json[list]);
  else if (params.md)
    reply.raw = MakeTable(reply.json[list], kind, 1000).Markdown();
  return reply;
}

std::string TotalsText(const Json& reply, TotalsKind kind, const TextStyle& style) {
  const Json& rows = reply[kind == TotalsKind::kOperators ? "operators" : "kernels"];
  if (rows.empty())
    return kind == TotalsKind::kOperators ? "the run has no operators\n" : "the run has no kernels\n";
  std::string out = MakeTable(rows, kind, style.width).Render(style.width, style.color);
  const auto total = reply["rows_total"].get<size_t>();
  if (total > rows.size()) out += fmt::format("{} of {} rows; --limit 0 shows all\n", rows.size(), total);
  return out;
}

}  // namespace nl
