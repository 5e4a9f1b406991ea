// SPDX-License-Identifier: Apache-2.0
// `neurolens gate`: did a change make the metrics worse? The answer is the exit status.

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "analyze/metric/metric.h"
#include "analyze/metric/regression.h"
#include "base/time_text.h"
#include "ops/gate/explain.h"
#include "ops/gate/limit.h"
#include "ops/open_run_or_file.h"
#include "report/gate/gate_forms.h"

namespace nl::ops::gate {

namespace {

struct Side {
  std::string name;  // of the baseline; empty: runs named one by one
  std::vector<CatalogRun> runs;
};

// Runs, files to import, or baselines by name.
Result<Side> ResolveSide(OpContext& context, const std::vector<std::string>& targets, const char* flag) {
  Side side;
  std::vector<std::string> ids;
  for (const std::string& target : targets) {
    std::optional<Baseline> baseline;
    if (const auto store = OpenStore(context, Store::Mode::kReadOnly); store.ok()) {
      NL_ASSIGN(baseline, (*store)->catalog().FindBaseline(target));
    }
    if (baseline) {
      if (baseline->run_ids.empty())
        return InvalidInput(fmt::format("the runs of baseline '{}' were deleted", target))
            .Hint(fmt::format("neurolens baseline set {} RUN...", target));
      ids.insert(ids.end(), baseline->run_ids.begin(), baseline->run_ids.end());
      if (targets.size() == 1) side.name = target;
      continue;
    }
    Result<std::string> id = RunOrFileId(context, target);
    if (!id.ok()) return std::move(id).error().With(fmt::format("{} {}", flag, target));
    ids.push_back(*std::move(id));
  }
  NL_ASSIGN(const auto store, OpenStore(context, Store::Mode::kReadOnly));
  NL_ASSIGN(side.runs, ResolveRuns(*store, ids));
  return side;
}

Status CheckApart(const Side& baseline, const Side& candidate) {
  for (const CatalogRun& a : baseline.runs) {
    for (const CatalogRun& b : candidate.runs) {
      if (a.run_id == b.run_id)
        return InvalidInput(fmt::format("run {} ({}) is on both sides", a.run_id, a.source_name))
            .Hint("name different runs for --baseline and --candidate");
    }
  }
  return {};
}

// Differences between the setups. A difference of the hardware is not a regression: it is refused.
Result<std::vector<CompareDifference>> CheckComparable(const Side& baseline, const Side& candidate,
                                                       bool allow_different) {
  std::vector<CompareDifference> out;
  const auto check = [&](const char* what, bool hardware, const auto& text_of) -> Status {
    const auto texts = [&](const Side& side) {
      std::set<std::string> found;
      for (const CatalogRun& run : side.runs) found.insert(text_of(run));
      return fmt::format("{}", fmt::join(found, " / "));
    };
    const std::string a = texts(baseline);
    const std::string b = texts(candidate);
    if (a == b && a.find(" / ") == std::string::npos) return {};
    if (hardware && !allow_different)
      return InvalidInput(
                 fmt::format("not comparable: {} of the baseline is {}, of the candidate {}", what, a, b))
          .Hint("--allow-different compares them anyway");
    out.push_back({what, a, b, hardware ? "allowed by --allow-different" : "reported only"});
    return {};
  };
  NL_TRY(check("device", true,
               [](const CatalogRun& r) { return r.device.empty() ? std::string("cpu") : r.device; }));
  NL_TRY(check("device count", true, [](const CatalogRun& r) { return std::to_string(r.device_count); }));
  NL_TRY(check("precision", false, [](const CatalogRun& r) { return r.precision; }));
  NL_TRY(check("backend", false, [](const CatalogRun& r) { return r.backend; }));
  return out;
}

Result<GateSide> ReplySide(OpContext& context, const Side& side) {
  NL_ASSIGN(const auto store, OpenStore(context, Store::Mode::kReadOnly));
  GateSide out;
  if (!side.name.empty()) out.name = side.name;
  for (const CatalogRun& run : side.runs) {
    NL_ASSIGN(const std::string short_id, store->catalog().ShortId(run.run_id));
    out.runs.push_back({run.run_id, short_id, run.source_name, Rfc3339Utc(run.created_at_ns)});
  }
  return out;
}

class GateOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "gate";
    info.summary = "Pass or fail a change: metrics of candidate runs against a baseline, with statistics";
    info.choose_when =
        "Choose it in CI; `compare` explains a difference, `trend` looks at the history. A verdict needs "
        "several runs on each side: five of each detect a change of three times their spread.";
    info.example =
        "neurolens gate --baseline main --candidate candidate.json.gz --max-regression 2% --undecided pass";
    info.cost = Cost::kSeconds;
    info.writes = true;
    info.writes_by_import = true;
    info.bad_input_status = 3;
    info.exit_status =
        "0 pass, 1 regressed, 2 undecided (0 or 1 with --undecided), 3 bad input or a metric that was not "
        "measured, 4 internal error.";
    info.reply = ReplyOf<GateReply>();
    return info;
  }

  void Bind(ParamBinder& b) override {
    b.Add("baseline", baseline_, "Name of a baseline, or runs, or profiles to import").Run().Required();
    b.Add("candidate", candidate_, "Runs to judge, or profiles to import").Run().Required();
    b.Add("max_regression", max_regression_, "How much worse a metric may get, as 2% or 0.02");
    b.Add("metric", metrics_, fmt::format("Metric to judge: {}; by default wall", MetricForms()));
    b.Add("stage", stage_, "Judge the metrics within this stage, for example LLM@decode_step");
    b.Add("undecided", undecided_, "Count undecided as pass or fail; by default it is exit status 2")
        .Choices({"pass", "fail"});
    b.Add("alpha", alpha_, "Allowed false alarm rate when nothing changed").Range(0.0001, 0.2);
    b.Add("paired", paired_, "The runs were interleaved: the first of both sides, the second of both, ...");
    b.Add("allow_different", allow_different_, "Compare runs on different devices");
    BindPhase(b, phase_);
    params_.BindPeaks(b);
    params_.BindModel(b);
    b.Add("junit", junit_, "Write the result as JUnit XML to this file").Path();
    b.Add("md", md_, "Write a summary for a pull request to this file").Path();
  }

  Result<Reply> Run(OpContext& context) override {
    NL_ASSIGN(const double limit, ParseLimit(max_regression_));
    NL_ASSIGN(const std::vector<std::string> specs, Specs());
    NL_ASSIGN(Side baseline, ResolveSide(context, baseline_, "--baseline"));
    NL_ASSIGN(Side candidate, ResolveSide(context, candidate_, "--candidate"));
    NL_TRY(CheckApart(baseline, candidate));
    NL_TRY(Order(baseline, candidate));
    GateReply reply;
    NL_ASSIGN(reply.comparability, CheckComparable(baseline, candidate, allow_different_));
    NL_ASSIGN(const CommonPhase phase, ChoosePhase(context, specs, baseline, candidate));
    reply.phase = phase.chosen();
    NL_ASSIGN(std::vector<MetricSamples> values, ReadAll(context, specs, phase, baseline, candidate));
    const RegressionLimits limits{limit, alpha_, paired_};
    const std::vector<MetricVerdict> verdicts = JudgeMetrics(std::move(values), limits);
    reply.outcome = OverallOutcome(verdicts);
    if (!undecided_.empty())
      reply.undecided_policy = undecided_ == "pass" ? UndecidedPolicy::kPass : UndecidedPolicy::kFail;
    reply.max_regression = limit;
    reply.alpha = alpha_;
    reply.judged_at = Rfc3339Utc(UnixNowNs());
    NL_ASSIGN(reply.baseline, ReplySide(context, baseline));
    NL_ASSIGN(reply.candidate, ReplySide(context, candidate));
    for (const MetricVerdict& v : verdicts) reply.metrics.push_back(GateMetricOf(v, limits));
    reply.explanation = Explanation(context, phase, baseline, candidate, verdicts);
    reply.text = GateHeadline(reply);
    NL_TRY(WriteForm(junit_, "junit", GateJUnit(reply), reply.files));
    NL_TRY(WriteForm(md_, "md", GateMarkdown(reply), reply.files));
    return WithStatus(std::move(reply));
  }

  std::string Text(const Reply& reply, const TextStyle& style) const override {
    return GateText(reply.As<GateReply>(), style.width, style.color);
  }

 private:
  Result<std::vector<std::string>> Specs() const {
    std::vector<std::string> out;
    std::vector<std::string> asked = metrics_;
    if (asked.empty()) asked.push_back("wall");
    for (const std::string& spec : asked) {
      NL_TRY(CheckMetric(spec));
      std::string final_spec = spec;
      if (!stage_.empty()) {
        NL_ASSIGN(final_spec, MetricOfStage(spec, stage_));
      }
      if (std::find(out.begin(), out.end(), final_spec) == out.end()) out.push_back(std::move(final_spec));
    }
    return out;
  }

  // By time, so that drift shows; --paired keeps the order given.
  Status Order(Side& baseline, Side& candidate) const {
    if (paired_) {
      if (baseline.runs.size() == candidate.runs.size()) return {};
      return InvalidInput(
          fmt::format("--paired needs as many runs on one side as on the other, not {} and {}",
                      baseline.runs.size(), candidate.runs.size()));
    }
    for (Side* side : {&baseline, &candidate}) {
      std::stable_sort(side->runs.begin(), side->runs.end(), [](const CatalogRun& a, const CatalogRun& b) {
        return a.created_at_ns < b.created_at_ns;
      });
    }
    return {};
  }

  Result<OpenAnalysis> OpenWhole(const OpContext& context, const CatalogRun& run) const {
    if (context.Cancelled()) return Cancelled();
    AnalysisParams params = params_;
    params.run = run.run_id;
    return Analyze(context, params);
  }

  // The runs of the baseline, then those of the candidate. They are opened again when metrics are read, so
  // that one run is in memory at a time.
  Result<CommonPhase> ChoosePhase(const OpContext& context, const std::vector<std::string>& specs,
                                  const Side& baseline, const Side& candidate) const {
    CommonPhase out(std::any_of(specs.begin(), specs.end(), IsSumOverTime) ? phase_ : "all");
    if (out.is_all()) return out;
    for (const Side* side : {&baseline, &candidate}) {
      for (const CatalogRun& run : side->runs) {
        NL_ASSIGN(const OpenAnalysis open, OpenWhole(context, run));
        NL_TRY(out.Add(*open.analysis, side == &candidate));
      }
    }
    NL_TRY(out.Choose());
    return out;
  }

  Result<std::vector<MetricSamples>> ReadAll(const OpContext& context, const std::vector<std::string>& specs,
                                             const CommonPhase& phase, const Side& baseline,
                                             const Side& candidate) const {
    std::vector<MetricSamples> out(specs.size());
    size_t number = 0;
    for (const Side* side : {&baseline, &candidate}) {
      for (const CatalogRun& run : side->runs) {
        NL_ASSIGN(const OpenAnalysis open, OpenWhole(context, run));
        const auto read = [&](bool over_time) -> Status {
          for (size_t i = 0; i < specs.size(); ++i) {
            if (IsSumOverTime(specs[i]) != over_time) continue;
            Result<MetricValue> value = ReadMetric(*open.analysis, specs[i]);
            if (!value.ok())
              return std::move(value).error().With(fmt::format("run {} ({})", run.run_id, run.source_name));
            AddValue(*value, side == &baseline, out[i]);
          }
          return {};
        };
        NL_TRY(read(false));
        phase.LookAt(number++, *open.analysis);
        NL_TRY(read(true));
      }
    }
    return out;
  }

  static void AddValue(const MetricValue& value, bool baseline, MetricSamples& out) {
    out.metric = value.spec;
    out.unit = value.unit;
    out.larger_is_better = value.larger_is_better;
    (baseline ? out.baseline : out.candidate).push_back(value.value);
  }

  // For the first metric with the overall outcome. A pass needs none.
  std::optional<GateExplanation> Explanation(const OpContext& context, const CommonPhase& phase,
                                             const Side& baseline, const Side& candidate,
                                             const std::vector<MetricVerdict>& verdicts) const {
    const GateOutcome overall = OverallOutcome(verdicts);
    if (overall == GateOutcome::kPass) return std::nullopt;
    const auto worst = std::find_if(verdicts.begin(), verdicts.end(),
                                    [&](const MetricVerdict& v) { return v.outcome == overall; });
    const auto ids = [](const Side& side) {
      std::vector<std::string> out;
      for (const CatalogRun& run : side.runs) out.push_back(run.run_id);
      return out;
    };
    return ExplainContributions(context, params_, IsSumOverTime(worst->samples.metric) ? &phase : nullptr,
                                {ids(baseline), worst->samples.baseline, 0},
                                {ids(candidate), worst->samples.candidate, baseline.runs.size()});
  }

  static Reply WithStatus(GateReply reply) {
    const bool undecided = reply.outcome == GateOutcome::kUndecided;
    const std::optional<UndecidedPolicy> policy = reply.undecided_policy;
    const bool regressed = reply.outcome == GateOutcome::kRegressed;
    Reply out = Reply::Of(std::move(reply));
    out.answer_is_no = regressed || (undecided && policy == UndecidedPolicy::kFail);
    out.answer_status = undecided && !policy ? 2 : 0;
    return out;
  }

  std::vector<std::string> baseline_, candidate_, metrics_;
  std::string max_regression_ = "2%", phase_, stage_, undecided_, junit_, md_;
  double alpha_ = 0.01;
  bool paired_ = false, allow_different_ = false;
  AnalysisParams params_;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<GateOp>(); }

}  // namespace nl::ops::gate
