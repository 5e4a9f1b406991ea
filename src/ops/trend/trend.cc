// SPDX-License-Identifier: Apache-2.0
// `neurolens trend`: a metric over the runs of one workload, and where its level changed.

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "analyze/metric/metric.h"
#include "analyze/statistics/change_points.h"
#include "base/human.h"
#include "base/terminal.h"
#include "base/time_text.h"
#include "ops/metric_text.h"
#include "ops/open_analysis.h"
#include "ops/trend/chart.h"
#include "report/text_table.h"

namespace nl::ops::trend {

namespace {

constexpr size_t kTableRows = 10;

// What makes two runs the same workload, the model apart.
bool SameSurroundings(const CatalogRun& a, const CatalogRun& b) {
  return a.device == b.device && a.device_count == b.device_count && a.precision == b.precision &&
         a.backend == b.backend;
}

Json Workload(const CatalogRun& run, const std::string& model) {
  return {{"model", model},
          {"device", run.device},
          {"device_count", run.device_count},
          {"precision", run.precision},
          {"backend", run.backend}};
}

class TrendOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "trend";
    info.summary =
        "A metric over the runs of one workload, in order, with the points where its level changed";
    info.choose_when =
        "Choose it for a history of runs; `gate` judges a new one, `compare` explains the difference of two. "
        "Without "
        "--model it takes the runs that are like the newest one.";
    info.example = "neurolens trend --metric wall";
    info.cost = Cost::kSeconds;
    info.reply_schema = SchemaFromText(
        R"({"type": "object", "required": ["metric", "unit", "larger_is_better", "workload", "runs", "change_points", "unreadable", "left_out"],
      "definitions": {"number": {"type": ["number", "null"]}},
      "properties": {"metric": {"type": "string"}, "unit": {"type": "string"}, "larger_is_better": {"type": "boolean"},
        "workload": {"type": ["object", "null"]}, "left_out": {"type": "integer", "description": "runs of another device, precision or backend"},
        "runs": {"type": "array", "items": {"type": "object",
          "required": ["run_id", "short_id", "created_at", "source_name", "value", "reason", "level", "change"],
          "properties": {"run_id": {"type": "string"}, "short_id": {"type": "string"}, "created_at": {"type": "string"},
            "source_name": {"type": "string"}, "value": {"$ref": "#/definitions/number"}, "reason": {"type": ["string", "null"]},
            "level": {"$ref": "#/definitions/number"}, "change": {"$ref": "#/definitions/number", "description": "of the run before it"}}}},
        "change_points": {"type": "array", "items": {"type": "object",
          "required": ["index", "run_id", "created_at", "before_median", "after_median", "change", "p_value", "class"],
          "properties": {"index": {"type": "integer"}, "class": {"enum": ["regressed", "improved"]}, "p_value": {"type": "number"},
            "before_median": {"type": "number"}, "after_median": {"type": "number"}, "change": {"$ref": "#/definitions/number"}}}},
        "unreadable": {"type": "array", "items": {"type": "object", "required": ["reason", "runs"]}}}})");
    return info;
  }

  void Bind(ParamBinder& b) override {
    b.Add("metric", metric_, "Metric: " + MetricForms());
    b.Add("model", model_, "Only runs whose model name contains this");
    b.Add("tag", tags_, "Only runs with this tag; KEY= takes any value").KeyValue();
    b.Add("since", since_, "Only runs made since a date (2025-01-31), a time, or for an age (7d, 12h)");
    b.Add("limit", limit_, "The newest so many runs; 0 for all").Range(0, 1e6);
    params_.BindPeaks(b);
    params_.BindModel(b);
  }

  Result<Reply> Run(OpContext& context) override {
    NL_TRY(CheckMetric(metric_));
    Reply reply;
    reply.json = {{"metric", metric_},           {"unit", ""},
                  {"larger_is_better", false},   {"workload", Json()},
                  {"runs", Json::array()},       {"change_points", Json::array()},
                  {"unreadable", Json::array()}, {"left_out", 0}};
    NL_ASSIGN(const std::vector<CatalogRun> runs, Select(context, reply.json));
    std::vector<double> values;
    NL_TRY(ReadValues(context, runs, reply.json, values));
    AddLevels(values, reply.json);
    return reply;
  }

  std::string Text(const Reply& reply, const TextStyle& style) const override {
    const Json& r = reply.json;
    if (r["runs"].empty()) return "no runs match\n";
    const std::string unit = r["unit"];
    std::vector<ChartPoint> points;
    std::string first, last;
    for (const Json& run : r["runs"]) {
      if (run["value"].is_null()) continue;
      const std::string day = run["created_at"].get<std::string>().substr(0, 10);
      if (points.empty()) first = day;
      last = day;
      points.push_back({run["value"], run["level"], false});
    }
    MarkChanges(r, points);
    std::string out = Wrap(PrintableText(Verdict(r, points.size())), style.width, 2) + "\n";
    if (!points.empty()) {
      ChartStyle chart;
      chart.width = style.width;
      chart.left = first;
      chart.right = last;
      chart.label = [&](double v) { return MetricText(v, unit); };
      out += "\n" + DrawChart(points, chart);
    }
    return out + ChangesText(r, style) + TableText(r, style) + UnreadableText(r, style);
  }

 private:
  // Oldest first: the newest run that matches, and those like it.
  Result<std::vector<CatalogRun>> Select(const OpContext& context, Json& reply) const {
    RunFilter filter;
    filter.model = model_;
    filter.sort = RunSort::kCreated;
    for (const std::string& tag : tags_) {
      const size_t equals = tag.find('=');
      if (tag.empty() || equals == 0)
        return InvalidInput(fmt::format("'{}' is not a tag; write KEY=VALUE", tag));
      filter.tags.emplace_back(tag.substr(0, equals),
                               equals == std::string::npos ? "" : tag.substr(equals + 1));
    }
    if (!since_.empty()) {
      NL_ASSIGN(filter.since_ns, ParseTimePoint(since_));
    }
    std::vector<CatalogRun> out;
    Result<std::unique_ptr<Store>> store = OpenStore(context, Store::Mode::kReadOnly);
    if (!store.ok() && store.error().code == ErrorCode::kNotFound) return out;
    if (!store.ok()) return std::move(store).error();
    NL_ASSIGN(std::vector<CatalogRun> found, (*store)->catalog().List(filter));
    if (found.empty()) return out;
    const CatalogRun newest = found.front();
    // A model or tag that was asked for tells the workload; else it is the newest run's model.
    const bool by_model = model_.empty() && tags_.empty();
    int64_t left_out = 0;
    for (CatalogRun& run : found) {
      if (by_model && run.model != newest.model) continue;
      if (!SameSurroundings(run, newest)) {
        ++left_out;
      } else if (limit_ == 0 || static_cast<int64_t>(out.size()) < limit_) {
        out.push_back(std::move(run));
      }
    }
    std::reverse(out.begin(), out.end());
    reply["workload"] = Workload(newest, by_model ? newest.model : model_);
    reply["left_out"] = left_out;
    return out;
  }

  // One row per run; NaN in `values` where it could not be read.
  Status ReadValues(OpContext& context, const std::vector<CatalogRun>& runs, Json& reply,
                    std::vector<double>& values) const {
    std::map<std::string, Json> unreadable;
    double before = std::nan("");
    for (const CatalogRun& run : runs) {
      if (context.Cancelled()) return Cancelled();
      AnalysisParams params = params_;
      params.run = run.run_id;
      Result<MetricValue> value = InvalidInput("");
      std::string short_id;
      if (Result<OpenAnalysis> open = Analyze(context, params); open.ok()) {
        value = ReadMetric(*open->analysis, metric_);
        NL_ASSIGN(short_id, open->run.store->catalog().ShortId(run.run_id));
      } else {
        value = std::move(open).error();
        short_id = run.run_id.substr(0, 13);
      }
      if (!value.ok() && value.error().code == ErrorCode::kCancelled) return value.error();
      Json row{{"run_id", run.run_id}, {"short_id", short_id}};
      row["created_at"] = Rfc3339Utc(run.created_at_ns);
      row["source_name"] = run.source_name;
      row["value"] = value.ok() ? Json(value->value) : Json();
      row["reason"] = value.ok() ? Json() : Json(value.error().message);
      row["level"] = Json();
      const double now = value.ok() ? value->value : std::nan("");
      row["change"] = std::isfinite(now / before) && before != 0 ? Json(now / before - 1) : Json();
      if (value.ok()) {
        reply["metric"] = value->spec;
        reply["unit"] = value->unit;
        reply["larger_is_better"] = value->larger_is_better;
        before = now;
      } else {
        unreadable[value.error().message].push_back(short_id);
      }
      values.push_back(now);
      reply["runs"].push_back(std::move(row));
    }
    for (auto& [reason, ids] : unreadable)
      reply["unreadable"].push_back({{"reason", reason}, {"runs", std::move(ids)}});
    return {};
  }

  static void AddLevels(const std::vector<double>& values, Json& reply) {
    const std::vector<ChangePoint> points = FindChangePoints(values);
    const bool larger = reply["larger_is_better"];
    for (const ChangePoint& p : points) {
      const Json& run = reply["runs"][static_cast<size_t>(p.index)];
      const bool worse = (p.after_median > p.before_median) != larger;
      Json out{{"index", p.index}, {"run_id", run["run_id"]}, {"short_id", run["short_id"]}};
      out["created_at"] = run["created_at"];
      out["before_median"] = p.before_median;
      out["after_median"] = p.after_median;
      out["change"] = std::isfinite(p.change) ? Json(p.change) : Json();
      out["p_value"] = p.p_value;
      out["class"] = worse ? "regressed" : "improved";
      reply["change_points"].push_back(std::move(out));
    }
    std::vector<double> sorted;
    for (const double v : values) {
      if (std::isfinite(v)) sorted.push_back(v);
    }
    if (sorted.empty()) return;
    std::sort(sorted.begin(), sorted.end());
    double level = points.empty() ? (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2
                                  : points.front().before_median;
    size_t next = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      if (next < points.size() && points[next].index == static_cast<int64_t>(i))
        level = points[next++].after_median;
      if (std::isfinite(values[i])) reply["runs"][i]["level"] = level;
    }
  }

  static void MarkChanges(const Json& r, std::vector<ChartPoint>& points) {
    for (const Json& change : r["change_points"]) {
      size_t at = 0;  // among the runs that have a value
      for (size_t i = 0; i < change["index"].get<size_t>(); ++i)
        at += r["runs"][i]["value"].is_null() ? 0 : 1;
      points[at].change = true;
    }
  }

  static std::string Verdict(const Json& r, size_t readable) {
    const std::string metric = r["metric"];
    if (readable == 0) return fmt::format("{}: none of {} runs has it", metric, r["runs"].size());
    std::string out = fmt::format("{} over {} run{}", metric, readable, readable == 1 ? "" : "s");
    const Json& w = r["workload"];
    if (!w["model"].get<std::string>().empty()) out += " of " + w["model"].get<std::string>();
    if (!w["device"].get<std::string>().empty()) out += " on " + w["device"].get<std::string>();
    const size_t changes = r["change_points"].size();
    out += changes == 0 ? ": no change of level"
                        : fmt::format(": {} change{} of level", changes, changes == 1 ? "" : "s");
    if (readable < 6) out += " (fewer than 6 runs cannot show one; --model and --tag choose the runs)";
    const auto left_out = r["left_out"].get<int64_t>();
    if (left_out > 0) out += fmt::format("; {} of another device, precision or backend left out", left_out);
    return out + ".";
  }

  static std::string ChangesText(const Json& r, const TextStyle& style) {
    const std::string unit = r["unit"];
    std::string out;
    for (const Json& c : r["change_points"]) {
      const std::string share =
          c["change"].is_null() ? "" : fmt::format(" ({:+.2f} %)", 100 * c["change"].get<double>());
      out +=
          Wrap(fmt::format("┊ {} {} {}: {} -> {}{}, p {:.2g}",
                           c["created_at"].get<std::string>().substr(0, 10), c["short_id"].get<std::string>(),
                           c["class"].get<std::string>(), MetricText(c["before_median"], unit),
                           MetricText(c["after_median"], unit), share, c["p_value"].get<double>()),
               style.width, 2) +
          "\n";
    }
    return out.empty() ? "" : "\n" + out;
  }

  static std::string TableText(const Json& r, const TextStyle& style) {
    TextTable table({{"RUN", Align::kLeft, false, 0},
                     {"CREATED", Align::kLeft, false, 0},
                     {"VALUE", Align::kRight, false, 0},
                     {"OF LEVEL", Align::kRight, false, 0},
                     {"FILE", Align::kLeft, true, 12}});
    const size_t count = r["runs"].size();
    for (size_t i = count > kTableRows ? count - kTableRows : 0; i < count; ++i) {
      const Json& run = r["runs"][i];
      std::string created = run["created_at"].get<std::string>().substr(0, 16);
      std::replace(created.begin(), created.end(), 'T', ' ');
      const bool known = !run["value"].is_null();
      const double level = known && !run["level"].is_null() ? run["level"].get<double>() : 0;
      table.AddRow(
          {run["short_id"], created, known ? MetricText(run["value"], r["unit"]) : "-",
           level != 0 ? fmt::format("{:+.1f} %", 100 * (run["value"].get<double>() / level - 1)) : "-",
           run["source_name"]});
    }
    std::string out = "\n" + table.Render(style.width, style.color);
    if (count > kTableRows)
      out += fmt::format("the last {} of {} runs\n", kTableRows, HumanCount(static_cast<int64_t>(count)));
    return out;
  }

  static std::string UnreadableText(const Json& r, const TextStyle& style) {
    std::string out;
    for (const Json& group : r["unreadable"]) {
      const size_t count = group["runs"].size();
      out += Wrap(PrintableText(fmt::format("{} run{} could not be read: {} ({}{})", count,
                                            count == 1 ? "" : "s", group["reason"].get<std::string>(),
                                            group["runs"][0].get<std::string>(), count > 1 ? ", ..." : "")),
                  style.width, 2) +
             "\n";
    }
    return out.empty() ? "" : "\n" + out;
  }

  std::string metric_ = "wall", model_, since_;
  std::vector<std::string> tags_;
  int64_t limit_ = 200;
  AnalysisParams params_;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<TrendOp>(); }

}  // namespace nl::ops::trend
