// SPDX-License-Identifier: Apache-2.0
// `neurolens compare`: what changed between two runs, what each change costs, and whether it is real.

#include <algorithm>
#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include "analyze/compare/compare.h"
#include "analyze/compare/flame_diff.h"
#include "base/file_ops.h"
#include "base/record_json.h"
#include "ops/common_phase.h"
#include "ops/open_run_or_file.h"
#include "report/compare/compare_forms.h"
#include "report/report_forms.h"
#include "report/report_value.h"

namespace nl::ops::compare {

namespace {

constexpr size_t kMaxContributions = 1000;  // in a file; the reply has --top of them
constexpr size_t kShortId = 13;             // characters of a run id: its creation time

struct Side {
  std::vector<OpenAnalysis> runs;
  std::vector<Analysis*> analyses;
};

Result<Side> OpenSide(OpContext& context, AnalysisParams params, const std::vector<std::string>& targets) {
  Side out;
  for (const std::string& target : targets) {
    params.run = target;
    NL_ASSIGN(OpenAnalysis open, OpenRunOrFile(context, params));
    out.runs.push_back(std::move(open));
    out.analyses.push_back(out.runs.back().analysis.get());
  }
  return out;
}

// Limits all runs to the phase that --phase chooses.
Result<std::optional<ComparedPhase>> LookAtPhase(const std::string& asked, const Side& a, const Side& b) {
  CommonPhase common(asked);
  for (Analysis* run : a.analyses) NL_TRY(common.Add(*run, false));
  for (Analysis* run : b.analyses) NL_TRY(common.Add(*run, true));
  NL_TRY(common.Choose());
  size_t i = 0;
  for (Analysis* run : a.analyses) common.LookAt(i++, *run);
  for (Analysis* run : b.analyses) common.LookAt(i++, *run);
  return common.chosen();
}

// The run of the side that the comparison is about.
Analysis& ComparedRun(const Side& side, const std::string& run_id) {
  for (const OpenAnalysis& open : side.runs) {
    if (open.run.run.run_id == run_id) return *open.analysis;
  }
  return *side.analyses.front();
}

CompareRun RunOf(const OpenAnalysis& open) {
  const Json& document = open.analysis->data().document;
  const Json& files = ListAt(ChildAt(document, "source"), "files");
  const Json& devices = ListAt(ChildAt(document, "hardware"), "devices");
  const std::string model = TextAt(ChildAt(document, "model"), "name");
  std::string file = files.empty() ? "" : TextAt(files[0], "name");
  file = std::filesystem::path(file).filename().string();
  const auto text = [](const std::string& value) {
    return value.empty() ? std::nullopt : std::optional(value);
  };
  return {open.run.run.run_id, text(file.empty() ? model : file), text(model),
          text(devices.empty() ? "" : TextAt(devices[0], "name")), text(TextAt(document, "created_at"))};
}

// How to name the run in a command: as the user did if that is a run, else the start of its id.
std::string Typed(const std::string& target, const Side& side) {
  const bool plain = std::all_of(target.begin(), target.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '@' || c == '.';
  });
  return plain && !PathExists(target) ? target : side.runs[0].run.run.run_id.substr(0, kShortId);
}

class CompareOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "compare";
    info.summary = "What changed between two runs, what each change costs, and whether it is real";
    info.choose_when =
        "Choose it for a run before and a run after a change. Several runs on each side, as in A1 A2 A3 -- "
        "B1 "
        "B2 B3, distinguish a change from chance. `summary` and `findings` look at one run.";
    info.example = "neurolens compare before.json.gz after.json.gz --html compare.html";
    info.starts_here = true;
    info.cost = Cost::kSeconds;
    info.writes = true;
    info.writes_by_import = true;
    info.reply = ReplyOf<CompareReply>();
    info.tool.place = 2;
    return info;
  }

  void Bind(ParamBinder& b) override {
    b.Add("a", a_, "Runs before the change, or profiles to import").Positional().Required().Run();
    b.Add("b", b_, "Runs after it").Positional().Required().Run();
    b.Add("stage", options_.stage, "Only this stage, for example LLM@decode_step");
    b.Add("step", step_, "Only this instance of the stage, from 0; -1 is all").Range(-1, 1e9);
    b.Add("by", by_, "Also print a table by this").Choices({"kernel", "op", "module", "stage"});
    b.Add("time", time_, "Time to compare: wall, or device busy time, which hardly varies between runs")
        .Choices({"wall", "device"});
    b.Add("top", top_, "Contributions to list; the rest becomes one row").Range(1, kMaxContributions);
    b.Add("metric", metric_, "Similarity: cosine over the aligned ops weighted by latency, or plain cosine")
        .Choices({"weighted", "plain"});
    BindPhase(b, asked_phase_);
    params_.BindPeaks(b);
    b.Add("details", details_,
          "Include both timelines and the flame graph of the difference in the JSON reply; they are large");
    b.Add("md", md_, "Write the comparison as Markdown to this file").Path();
    b.Add("html", html_, "Write the comparison as a page to this file").Path();
    b.Add("json", json_,
          "Write the whole comparison as JSON to this file; without a file, print the reply as JSON")
        .Path();
  }

  Result<Reply> Run(OpContext& context) override {
    if (!html_.empty() && !HtmlMissingReason().empty()) return CompareHtml({}).error();
    NL_ASSIGN(const Side a, OpenSide(context, params_, a_));
    NL_ASSIGN(const Side b, OpenSide(context, params_, b_));
    options_.device_time = time_ == "device";
    options_.plain_similarity = metric_ == "plain";
    if (step_ >= 0) options_.step = step_;
    // A stage is chosen by its name, wherever in the run it is.
    const bool anywhere = asked_phase_ == "auto" && !options_.stage.empty();
    NL_ASSIGN(phase_, LookAtPhase(anywhere ? "all" : asked_phase_, a, b));
    NL_ASSIGN(const Comparison comparison, CompareRunSets(a.analyses, b.analyses, options_));
    CompareReply reply;
    static_cast<CompareFacts&>(reply) = FactsWithRuns(comparison, static_cast<size_t>(top_), a, b);
    NL_TRY(Write(comparison, a, b, reply));
    return Reply::Of(std::move(reply));
  }

  std::string Text(const Reply& reply, const TextStyle& style) const override {
    return CompareText(reply.As<CompareReply>(), {style.width, style.color, by_, static_cast<size_t>(top_)});
  }

 private:
  CompareFacts FactsWithRuns(const Comparison& comparison, size_t top, const Side& a, const Side& b) const {
    CompareFacts out = CompareFactsOf(comparison, top);
    for (const OpenAnalysis& open : a.runs) out.runs.a.push_back(RunOf(open));
    for (const OpenAnalysis& open : b.runs) out.runs.b.push_back(RunOf(open));
    if (!options_.stage.empty()) out.options.stage = options_.stage;
    out.options.step = options_.step;
    out.options.time = time_;
    out.options.metric = metric_;
    out.phase = phase_;
    out.next = NextSteps(out, Typed(a_[0], a), Typed(b_[0], b));
    return out;
  }

  Status Write(const Comparison& comparison, const Side& a, const Side& b, CompareReply& reply) const {
    if (!md_.empty()) NL_TRY(WriteForm(md_, "md", CompareMarkdown(reply), reply.files));
    if (html_.empty() && json_.empty() && !details_) return {};
    CompareDocument page;
    static_cast<CompareFacts&>(page) = FactsWithRuns(comparison, kMaxContributions, a, b);
    page.timeline = MakePairTimeline(comparison.timeline);
    NL_ASSIGN(page.flame, DiffFlames(ComparedRun(a, comparison.run_a), ComparedRun(b, comparison.run_b)));
    if (details_) {
      reply.timeline = page.timeline;
      reply.flame = page.flame;
    }
    if (!html_.empty()) {
      NL_ASSIGN(const std::string html, CompareHtml(page));
      NL_TRY(WriteForm(html_, "html", html, reply.files));
    }
    return json_.empty() ? Status() : WriteForm(json_, "json", ToJsonText(page) + "\n", reply.files);
  }

  AnalysisParams params_;
  CompareOptions options_;
  std::optional<ComparedPhase> phase_;
  std::vector<std::string> a_, b_;
  int64_t step_ = -1, top_ = 10;
  bool details_ = false;
  std::string asked_phase_, by_, time_ = "wall", metric_ = "weighted", md_, html_, json_;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<CompareOp>(); }

}  // namespace nl::ops::compare
