// SPDX-License-Identifier: Apache-2.0
// `neurolens gate`: may this candidate go in? The answer is the exit status.

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "analyze/metric/metric.h"
#include "base/file_ops.h"
#include "base/time_text.h"
#include "ops/gate/explain.h"
#include "ops/gate/forms.h"
#include "ops/gate/judge.h"
#include "ops/metric_text.h"
#include "ops/open_run_or_file.h"

namespace nl::ops::gate {

namespace {

struct Side {
  std::string name;  // of the baseline it is; empty: runs named one by one
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
            .Hint("a run held against itself says nothing");
    }
  }
  return {};
}

// What differs between the runs' surroundings. Other hardware is no regression of anything.
Result<Json> CheckComparable(const Side& baseline, const Side& candidate, bool allow_different) {
  Json out = Json::array();
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
                 fmt::format("not comparable: {} of the baseline {}, of the candidate {}", what, a, b))
          .Hint("--allow-different compares all the same");
    out.push_back({{"what", what},
                   {"a", a},
                   {"b", b},
                   {"consequence", hardware ? "allowed by --allow-different" : "told"}});
    return {};
  };
  NL_TRY(check("device", true,
               [](const CatalogRun& r) { return r.device.empty() ? std::string("cpu") : r.device; }));
  NL_TRY(check("device count", true, [](const CatalogRun& r) { return std::to_string(r.device_count); }));
  NL_TRY(check("precision", false, [](const CatalogRun& r) { return r.precision; }));
  NL_TRY(check("backend", false, [](const CatalogRun& r) { return r.backend; }));
  return out;
}

Result<Json> SideJson(OpContext& context, const Side& side) {
  NL_ASSIGN(const auto store, OpenStore(context, Store::Mode::kReadOnly));
  Json out{{"name", side.name.empty() ? Json() : Json(side.name)}, {"runs", Json::array()}};
  for (const CatalogRun& run : side.runs) {
    NL_ASSIGN(const std::string short_id, store->catalog().ShortId(run.run_id));
    out["runs"].push_back({{"run_id", run.run_id},
                           {"short_id", short_id},
                           {"source_name", run.source_name},
                           {"created_at", Rfc3339Utc(run.created_at_ns)}});
  }
  return out;
}

Status WriteOut(const std::string& path, const char* form, const std::string& text, Json& written) {
  if (path.empty()) return {};
  const std::string folder = std::filesystem::path(path).parent_path().string();
  if (!folder.empty()) NL_TRY(MakeDirectories(folder));
  NL_TRY(WriteFileAtomically(path, text));
  written.push_back({{"path", path}, {"form", form}, {"bytes", text.size()}});
  return {};
}

class GateOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "gate";
    info.summary = "Pass or fail a change: metrics of candidate runs against a baseline, with statistics";
    info.choose_when =
        "Choose it in CI; `compare` explains a difference, `trend` looks at the history. Several runs on "
        "each "
        "side are needed for a verdict: five of each see what is three times their spread.";
    info.example =
        "neurolens gate --baseline main --candidate candidate.json.gz --max-regression 2% --undecided pass";
    info.cost = Cost::kSeconds;
    info.writes = true;
    info.bad_input_status = 3;
    info.exit_status =
        "0 pass, 1 regressed, 2 undecided (unless --undecided says otherwise), 3 bad input or a metric that "
        "was not "
        "measured, 4 internal error.";
    info.reply_schema = SchemaFromText(
        R"({"type": "object", "required": ["outcome", "text", "undecided_policy", "max_regression", "alpha", "judged_at", "baseline", "candidate",
        "metrics", "comparability", "explanation", "files"],
      "definitions": {"number": {"type": ["number", "null"]}, "outcome": {"enum": ["pass", "regressed", "undecided"]},
        "side": {"type": "object", "required": ["name", "runs"], "properties": {"name": {"type": ["string", "null"]}, "runs": {"type": "array",
          "items": {"type": "object", "required": ["run_id", "short_id", "source_name", "created_at"]}}}}},
      "properties": {"outcome": {"$ref": "#/definitions/outcome"}, "text": {"type": "string"},
        "undecided_policy": {"enum": ["pass", "fail", null]}, "max_regression": {"type": "number"}, "alpha": {"type": "number"},
        "judged_at": {"type": "string"}, "baseline": {"$ref": "#/definitions/side"}, "candidate": {"$ref": "#/definitions/side"},
        "metrics": {"type": "array", "items": {"type": "object", "required": ["metric", "unit", "larger_is_better", "outcome", "verdict",
            "baseline_median", "candidate_median", "change", "ci_low", "ci_high", "p_value", "q_value", "confidence", "more_runs_needed", "reason",
            "text", "baseline_values", "candidate_values"],
          "properties": {"metric": {"type": "string"}, "unit": {"type": "string"}, "larger_is_better": {"type": "boolean"},
            "outcome": {"$ref": "#/definitions/outcome"}, "verdict": {"enum": ["regressed", "improved", "same", "undecided"]},
            "change": {"$ref": "#/definitions/number"}, "ci_low": {"$ref": "#/definitions/number"}, "ci_high": {"$ref": "#/definitions/number"},
            "p_value": {"type": "number"}, "q_value": {"type": "number"}, "confidence": {"type": "number"},
            "more_runs_needed": {"type": ["integer", "null"]}, "reason": {"type": ["string", "null"]}, "text": {"type": "string"},
            "baseline_values": {"type": "array", "items": {"type": "number"}}, "candidate_values": {"type": "array", "items": {"type": "number"}}}}},
        "comparability": {"type": "array", "items": {"type": "object", "required": ["what", "a", "b", "consequence"]}},
        "explanation": {"type": ["object", "null"], "required": ["run_a", "run_b", "reason", "contributions"]},
        "files": {"type": "array"}}})");
    return info;
  }

  void Bind(ParamBinder& b) override {
    b.Add("baseline", baseline_, "Name of a baseline, or runs, or profiles to import").Run().Required();
    b.Add("candidate", candidate_, "Runs to judge, or profiles to import").Run().Required();
    b.Add("max_regression", max_regression_, "How much worse a metric may get, as 2% or 0.02");
    b.Add("metric", metrics_, fmt::format("Metric to judge: {}; by default wall", MetricForms()));
    b.Add("stage", stage_, "Judge the metrics within this stage, for example LLM@decode_step");
    b.Add("undecided", undecided_, "What undecided counts as; by default it is exit status 2")
        .Choices({"pass", "fail"});
    b.Add("alpha", alpha_, "Share of false alarms allowed where nothing changed").Range(0.0001, 0.2);
    b.Add("paired", paired_, "The runs were made in turns: the first of both sides, the second of both, ...");
    b.Add("allow_different", allow_different_, "Compare runs of different devices too");
    params_.BindPeaks(b);
    params_.BindModel(b);
    b.Add("junit", junit_, "Write the result as JUnit XML to this file").Path().LocalOnly();
    b.Add("md", md_, "Write a summary for a pull request to this file").Path().LocalOnly();
  }

  Result<Reply> Run(OpContext& context) override {
    NL_ASSIGN(const double limit, ParseLimit(max_regression_));
    NL_ASSIGN(const std::vector<std::string> specs, Specs());
    NL_ASSIGN(Side baseline, ResolveSide(context, baseline_, "--baseline"));
    NL_ASSIGN(Side candidate, ResolveSide(context, candidate_, "--candidate"));
    NL_TRY(CheckApart(baseline, candidate));
    NL_TRY(Order(baseline, candidate));
    Json comparability;
    NL_ASSIGN(comparability, CheckComparable(baseline, candidate, allow_different_));
    NL_ASSIGN(std::vector<MetricRuns> values, ReadAll(context, specs, baseline, candidate));
    const std::vector<Judged> judged = Judge(std::move(values), {limit, alpha_, paired_});

    Reply reply;
    Json& r = reply.json;
    r["outcome"] = OutcomeName(Overall(judged));
    r["undecided_policy"] = undecided_.empty() ? Json() : Json(undecided_);
    r["max_regression"] = limit;
    r["alpha"] = alpha_;
    r["judged_at"] = Rfc3339Utc(UnixNowNs());
    NL_ASSIGN(r["baseline"], SideJson(context, baseline));
    NL_ASSIGN(r["candidate"], SideJson(context, candidate));
    r["metrics"] = Json::array();
    for (const Judged& j : judged) r["metrics"].push_back(ToJson(j));
    r["comparability"] = std::move(comparability);
    r["explanation"] = Explanation(context, baseline, candidate, judged);
    r["text"] = Headline(r);
    r["files"] = Json::array();
    NL_TRY(WriteOut(junit_, "junit", GateJUnit(r), r["files"]));
    NL_TRY(WriteOut(md_, "md", GateMarkdown(r), r["files"]));
    SetStatus(Overall(judged), reply);
    return reply;
  }

  std::string Text(const Reply& reply, const TextStyle& style) const override {
    return GateText(reply.json, style);
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

  // Neighbours in time show drift; pairs are as the caller says.
  Status Order(Side& baseline, Side& candidate) const {
    if (paired_) {
      if (baseline.runs.size() == candidate.runs.size()) return {};
      return InvalidInput(fmt::format("--paired needs as many runs on each side, not {} and {}",
                                      baseline.runs.size(), candidate.runs.size()));
    }
    for (Side* side : {&baseline, &candidate}) {
      std::stable_sort(side->runs.begin(), side->runs.end(), [](const CatalogRun& a, const CatalogRun& b) {
        return a.created_at_ns < b.created_at_ns;
      });
    }
    return {};
  }

  Result<std::vector<MetricRuns>> ReadAll(OpContext& context, const std::vector<std::string>& specs,
                                          const Side& baseline, const Side& candidate) const {
    std::vector<MetricRuns> out(specs.size());
    for (const Side* side : {&baseline, &candidate}) {
      for (const CatalogRun& run : side->runs) {
        if (context.Cancelled()) return Cancelled();
        AnalysisParams params = params_;
        params.run = run.run_id;
        NL_ASSIGN(const OpenAnalysis open, Analyze(context, params));
        for (size_t i = 0; i < specs.size(); ++i) {
          Result<MetricValue> value = ReadMetric(*open.analysis, specs[i]);
          if (!value.ok())
            return std::move(value).error().With(fmt::format("run {} ({})", run.run_id, run.source_name));
          out[i].metric = value->spec;
          out[i].unit = value->unit;
          out[i].larger_is_better = value->larger_is_better;
          (side == &baseline ? out[i].baseline : out[i].candidate).push_back(value->value);
        }
      }
    }
    return out;
  }

  // Of the metric that matters most: the first that is not fine. A pass needs none.
  Json Explanation(const OpContext& context, const Side& baseline, const Side& candidate,
                   const std::vector<Judged>& judged) const {
    const Outcome overall = Overall(judged);
    if (overall == Outcome::kPass) return Json();
    const auto worst =
        std::find_if(judged.begin(), judged.end(), [&](const Judged& j) { return j.outcome == overall; });
    const auto ids = [](const Side& side) {
      std::vector<std::string> out;
      for (const CatalogRun& run : side.runs) out.push_back(run.run_id);
      return out;
    };
    return ExplainContributions(context, params_, {ids(baseline), worst->runs.baseline},
                                {ids(candidate), worst->runs.candidate});
  }

  void SetStatus(Outcome outcome, Reply& reply) const {
    reply.answer_is_no =
        outcome == Outcome::kRegressed || (outcome == Outcome::kUndecided && undecided_ == "fail");
    reply.answer_status = outcome == Outcome::kUndecided && undecided_.empty() ? 2 : 0;
  }

  std::vector<std::string> baseline_, candidate_, metrics_;
  std::string max_regression_ = "2%", stage_, undecided_, junit_, md_;
  double alpha_ = 0.01;
  bool paired_ = false, allow_different_ = false;
  AnalysisParams params_;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<GateOp>(); }

}  // namespace nl::ops::gate
