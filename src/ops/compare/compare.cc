// SPDX-License-Identifier: Apache-2.0
// `neurolens compare`: what changed between two runs, what each change costs, whether it is real.

#include <algorithm>
#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include "analyze/compare/compare.h"
#include "analyze/compare/flame_diff.h"
#include "base/file_ops.h"
#include "ops/compare/reply_schema.h"
#include "ops/open_run_or_file.h"
#include "report/compare_forms.h"
#include "report/report_forms.h"
#include "report/report_value.h"

namespace nl::ops::compare {

namespace {

// Contributions in a file; the reply has --top of them.
constexpr size_t kMaxContributions = 1000;
constexpr size_t kShortId = 13;  // of a run's id: the time it was made

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

// The run of the side that the comparison tells of.
Analysis& Told(const Side& side, const std::string& run_id) {
  for (const OpenAnalysis& open : side.runs) {
    if (open.run.run.run_id == run_id) return *open.analysis;
  }
  return *side.analyses.front();
}

// Who the run is: its file, model and device.
Json RunJson(const OpenAnalysis& open) {
  const Json& document = open.analysis->data().document;
  const Json& files = ListAt(ChildAt(document, "source"), "files");
  const Json& devices = ListAt(ChildAt(document, "hardware"), "devices");
  const std::string model = TextAt(ChildAt(document, "model"), "name");
  std::string file = files.empty() ? "" : TextAt(files[0], "name");
  file = std::filesystem::path(file).filename().string();
  const auto text = [](const std::string& value) { return value.empty() ? Json() : Json(value); };
  return {{"run_id", open.run.run.run_id},
          {"name", text(file.empty() ? model : file)},
          {"model", text(model)},
          {"device", text(devices.empty() ? "" : TextAt(devices[0], "name"))},
          {"created_at", text(TextAt(document, "created_at"))}};
}

// What to type for the run: what the user typed if that names a run, else the start of its id.
std::string Typed(const std::string& target, const Side& side) {
  const bool plain = std::all_of(target.begin(), target.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '@' || c == '.';
  });
  return plain && !PathExists(target) ? target : side.runs[0].run.run.run_id.substr(0, kShortId);
}

Status WriteOne(const std::string& path, const char* form, std::string_view bytes, Json& written) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  if (!folder.empty()) NL_TRY(MakeDirectories(folder));
  NL_TRY(WriteFileAtomically(path, bytes));
  written.push_back({{"path", path}, {"form", form}, {"bytes", bytes.size()}});
  return {};
}

class CompareOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "compare";
    info.summary = "What changed between two runs, what each change costs, and whether it is real";
    info.choose_when =
        "Choose it for a before and an after. Several runs a side, as in A1 A2 A3 -- B1 B2 B3, tell a change "
        "from "
        "chance. `summary` and `findings` look at one run.";
    info.example = "neurolens compare before.json.gz after.json.gz --html compare.html";
    info.cost = Cost::kSeconds;
    info.writes = true;
    info.reply_schema = CompareReplySchema();
    return info;
  }

  void Bind(ParamBinder& b) override {
    b.Add("a", a_, "Runs before the change, or profiles to import").Positional().Required().Run();
    b.Add("b", b_, "Runs after it").Positional().Required().Run();
    b.Add("stage", options_.stage, "Only this stage, for example LLM@decode_step");
    b.Add("step", step_, "Only this instance of the stage, from 0; -1 is all").Range(-1, 1e9);
    b.Add("by", by_, "Also print the table by").Choices({"kernel", "op", "module", "stage"});
    b.Add("time", time_, "What to compare: wall, or device-busy time, which hardly drifts")
        .Choices({"wall", "device"});
    b.Add("top", top_, "Contributions to list; the rest becomes one row").Range(1, kMaxContributions);
    b.Add("metric", metric_, "Similarity by latency-weighted cosine of what aligned, or plain cosine")
        .Choices({"weighted", "plain"});
    params_.BindPeaks(b);
    b.Add("md", md_, "Write the comparison as Markdown to this file").Path().LocalOnly();
    b.Add("html", html_, "Write the comparison as a page to this file").Path().LocalOnly();
    b.Add("json", json_,
          "Write the whole comparison as JSON to this file; without a file, print the reply as JSON")
        .Path()
        .LocalOnly();
  }

  Result<Reply> Run(OpContext& context) override {
    if (!html_.empty() && !HtmlMissingReason().empty()) return CompareHtml(Json()).error();
    NL_ASSIGN(const Side a, OpenSide(context, params_, a_));
    NL_ASSIGN(const Side b, OpenSide(context, params_, b_));
    options_.device_time = time_ == "device";
    options_.plain_similarity = metric_ == "plain";
    if (step_ >= 0) options_.step = step_;
    NL_ASSIGN(const Comparison comparison, CompareRunSets(a.analyses, b.analyses, options_));
    Reply reply;
    reply.json = ToJson(comparison, static_cast<size_t>(top_));
    reply.json.erase("timeline");  // of the files
    Describe(a, b, reply.json);
    NL_ASSIGN(reply.json["files"], Write(comparison, a, b, reply.json));
    return reply;
  }

  std::string Text(const Reply& reply, const TextStyle& style) const override {
    return CompareText(reply.json, {style.width, style.color, by_, static_cast<size_t>(top_)});
  }

 private:
  // What the comparison itself does not know: who the runs are, how it was asked for.
  void Describe(const Side& a, const Side& b, Json& to) const {
    Json runs{{"a", Json::array()}, {"b", Json::array()}};
    for (const OpenAnalysis& open : a.runs) runs["a"].push_back(RunJson(open));
    for (const OpenAnalysis& open : b.runs) runs["b"].push_back(RunJson(open));
    to["runs"] = std::move(runs);
    to["options"] = {{"stage", options_.stage.empty() ? Json() : Json(options_.stage)},
                     {"step", options_.step ? Json(*options_.step) : Json()},
                     {"time", time_},
                     {"metric", metric_}};
    to["next"] = CompareNext(to, Typed(a_[0], a), Typed(b_[0], b));
  }

  Result<Json> Write(const Comparison& comparison, const Side& a, const Side& b, const Json& reply) const {
    Json written = Json::array();
    if (!md_.empty()) NL_TRY(WriteOne(md_, "md", CompareMarkdown(reply), written));
    if (html_.empty() && json_.empty()) return written;
    Json whole = ToJson(comparison, kMaxContributions);
    Describe(a, b, whole);
    NL_ASSIGN(whole["flame"], FlameDiffJson(Told(a, comparison.run_a), Told(b, comparison.run_b)));
    if (!html_.empty()) {
      NL_ASSIGN(const std::string page, CompareHtml(whole));
      NL_TRY(WriteOne(html_, "html", page, written));
    }
    if (!json_.empty()) NL_TRY(WriteOne(json_, "json", DumpJson(whole) + "\n", written));
    return written;
  }

  AnalysisParams params_;
  CompareOptions options_;
  std::vector<std::string> a_, b_;
  int64_t step_ = -1, top_ = 10;
  std::string by_, time_ = "wall", metric_ = "weighted", md_, html_, json_;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<CompareOp>(); }

}  // namespace nl::ops::compare
