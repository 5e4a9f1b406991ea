// SPDX-License-Identifier: Apache-2.0
// `neurolens trend`: a metric over the runs of one workload, and where its level changed.

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "analyze/metric/metric.h"
#include "analyze/statistics/change_points.h"
#include "analyze/statistics/stats.h"
#include "base/time_text.h"
#include "ops/open_analysis.h"
#include "report/trend/trend_reply.h"

namespace nl::ops::trend {

namespace {

constexpr size_t kShortId = 13;  // characters of a run id: its creation time

// Runs of the same workload, apart from the model.
bool SameSetup(const CatalogRun& a, const CatalogRun& b) {
  return a.device == b.device && a.device_count == b.device_count && a.precision == b.precision &&
         a.backend == b.backend;
}

// Fills change_points and the level of each run from the values of the runs.
void AddLevels(TrendReply& reply) {
  std::vector<double> values, known;
  for (const TrendRun& run : reply.runs) {
    values.push_back(run.value.value_or(kNan));
    if (run.value) known.push_back(*run.value);
  }
  if (known.empty()) return;
  const std::vector<ChangePoint> points = FindChangePoints(values);
  for (const ChangePoint& p : points) {
    const TrendRun& run = reply.runs[static_cast<size_t>(p.index)];
    const bool worse = (p.after_median > p.before_median) != reply.larger_is_better;
    reply.change_points.push_back(
        {p.index, run.run_id, run.short_id, run.created_at, p.before_median, p.after_median,
         std::isfinite(p.change) ? std::optional(p.change) : std::nullopt, p.p_value,
         worse ? TrendDirection::kRegressed : TrendDirection::kImproved});
  }
  double level = points.empty() ? Median(known) : points.front().before_median;
  size_t next = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (next < points.size() && points[next].index == static_cast<int64_t>(i))
      level = points[next++].after_median;
    if (reply.runs[i].value) reply.runs[i].level = level;
  }
}

class TrendOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "trend";
    info.summary =
        "A metric over the runs of one workload, in order, with the points where its level changed";
    info.choose_when =
        "Choose it for a history of runs; `gate` judges a new run, `compare` explains the difference between "
        "two. Without --model it takes the runs of the same workload as the newest one.";
    info.example = "neurolens trend --metric wall";
    info.cost = Cost::kSeconds;
    info.reply = ReplyOf<TrendReply>();
    return info;
  }

  void Bind(ParamBinder& b) override {
    b.Add("metric", metric_, "Metric: " + MetricForms());
    b.Add("model", model_, "Only runs whose model name contains this");
    b.Add("tag", tags_, "Only runs with this tag; KEY= takes any value").KeyValue();
    b.Add("since", since_, "Only runs made since a date (2025-01-31), a time, or within an age (7d, 12h)");
    b.Add("limit", limit_, "Newest runs to include; 0 includes all").Range(0, 1e6);
    params_.BindPeaks(b);
    params_.BindModel(b);
  }

  Result<Reply> Run(OpContext& context) override {
    NL_TRY(CheckMetric(metric_));
    TrendReply reply;
    reply.metric = metric_;
    std::vector<NamedRuns> baselines;
    NL_ASSIGN(const std::vector<CatalogRun> runs, Select(context, reply, baselines));
    NL_TRY(ReadValues(context, runs, reply));
    AddLevels(reply);
    for (const NamedRuns& baseline : baselines) NL_TRY(AddBaseline(context, baseline, reply));
    return Reply::Of(std::move(reply));
  }

  std::string Text(const Reply& reply, const TextStyle& style) const override {
    return TrendText(reply.As<TrendReply>(), style.width, style.color);
  }

 private:
  struct NamedRuns {
    std::string name;
    std::vector<CatalogRun> runs;
  };

  // The newest matching run and the runs of the same workload, oldest first; and of each baseline those of
  // its runs that are of this workload, also those before `limit`.
  Result<std::vector<CatalogRun>> Select(const OpContext& context, TrendReply& reply,
                                         std::vector<NamedRuns>& baselines) const {
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
    // --model or --tag selects the workload; without them it is the model of the newest run.
    const bool by_model = model_.empty() && tags_.empty();
    std::map<std::string, const CatalogRun*> same;  // by id
    for (const CatalogRun& run : found) {
      if (by_model && run.model != newest.model) continue;
      if (!SameSetup(run, newest)) {
        ++reply.left_out;
        continue;
      }
      same[run.run_id] = &run;
      if (limit_ == 0 || static_cast<int64_t>(out.size()) < limit_) out.push_back(run);
    }
    NL_ASSIGN(const std::vector<Baseline> named, (*store)->catalog().ListBaselines());
    for (const Baseline& baseline : named) {
      NamedRuns taken{baseline.name, {}};
      for (const std::string& run_id : baseline.run_ids) {
        if (const auto it = same.find(run_id); it != same.end()) taken.runs.push_back(*it->second);
      }
      if (!taken.runs.empty()) baselines.push_back(std::move(taken));
    }
    std::reverse(out.begin(), out.end());
    reply.workload = TrendWorkload{by_model ? newest.model : model_, newest.device, newest.device_count,
                                   newest.precision, newest.backend};
    return out;
  }

  // The metric of one run, with the shortest unique start of its id.
  Result<MetricValue> ReadOne(OpContext& context, const CatalogRun& run, std::string& short_id) const {
    AnalysisParams params = params_;
    params.run = run.run_id;
    short_id = run.run_id.substr(0, kShortId);
    NL_ASSIGN(const OpenAnalysis open, Analyze(context, params));
    NL_ASSIGN(short_id, open.run.store->catalog().ShortId(run.run_id));
    return ReadMetric(*open.analysis, metric_);
  }

  // The median of the values of a baseline: those of the trend, and of older runs their own.
  Status AddBaseline(OpContext& context, const NamedRuns& baseline, TrendReply& reply) const {
    TrendBaseline out{baseline.name, static_cast<int64_t>(baseline.runs.size()), {}, {}};
    std::vector<double> values;
    for (const CatalogRun& run : baseline.runs) {
      if (context.Cancelled()) return Cancelled();
      const auto listed = std::find_if(reply.runs.begin(), reply.runs.end(),
                                       [&run](const TrendRun& r) { return r.run_id == run.run_id; });
      if (listed != reply.runs.end()) {
        if (listed->value) values.push_back(*listed->value);
        if (listed->reason) out.reason = listed->reason;
        continue;
      }
      std::string short_id;
      const Result<MetricValue> value = ReadOne(context, run, short_id);
      if (!value.ok() && value.error().code == ErrorCode::kCancelled) return value.error();
      if (!value.ok()) out.reason = value.error().message;
      if (value.ok() && std::isfinite(value->value)) values.push_back(value->value);
    }
    if (!values.empty()) {
      out.value = Median(values);
      out.reason.reset();
    }
    reply.baselines.push_back(std::move(out));
    return {};
  }

  Status ReadValues(OpContext& context, const std::vector<CatalogRun>& runs, TrendReply& reply) const {
    std::map<std::string, std::vector<std::string>> unreadable;
    std::optional<double> before;
    for (const CatalogRun& run : runs) {
      if (context.Cancelled()) return Cancelled();
      TrendRun row{run.run_id, "", Rfc3339Utc(run.created_at_ns), run.source_name, {}, {}, {}, {}};
      Result<MetricValue> value = ReadOne(context, run, row.short_id);
      if (value.ok()) {
        if (std::isfinite(value->value)) row.value = value->value;
        if (row.value && before && std::isfinite(*row.value / *before)) row.change = *row.value / *before - 1;
        if (row.value) before = row.value;
        reply.metric = value->spec;
        reply.unit = value->unit;
        reply.larger_is_better = value->larger_is_better;
      } else {
        if (value.error().code == ErrorCode::kCancelled) return value.error();
        row.reason = value.error().message;
        unreadable[*row.reason].push_back(row.short_id);
      }
      reply.runs.push_back(std::move(row));
    }
    for (auto& [reason, ids] : unreadable) reply.unreadable.push_back({reason, std::move(ids)});
    return {};
  }

  std::string metric_ = "wall", model_, since_;
  std::vector<std::string> tags_;
  int64_t limit_ = 200;
  AnalysisParams params_;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<TrendOp>(); }

}  // namespace nl::ops::trend
