// SPDX-License-Identifier: Apache-2.0
// `neurolens analyze`: from a file or a run to the verdict in one command; a file is
// imported first, through the `import` operation itself.

#include <fmt/format.h>

#include "ops/open_run_or_file.h"
#include "ops/write_report.h"
#include "report/report_forms.h"
#include "report/report_value.h"

namespace nl::ops::analyze {

namespace {

class AnalyzeOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "analyze";
    info.summary = "From a profile or a run to the verdict, the breakdown and the findings, in one go";
    info.choose_when =
        "Choose it when a file is all you have; a file is imported first. `report` writes every form of a "
        "run "
        "into a folder.";
    info.example = "neurolens analyze trace.json.gz --html report.html";
    info.cost = Cost::kSeconds;
    info.writes = true;
    info.reply_schema = ReportReplySchema();
    return info;
  }

  void Bind(ParamBinder& b) override {
    b.Add("target", params_.run, "Run, or profile to import: a file, a folder of ranks, or -").Positional();
    params_.BindRules(b);
    params_.BindPeaks(b);
    params_.BindModel(b);
    b.Add("md", files_.md, "Write the report as Markdown to this file").Path().LocalOnly();
    b.Add("html", files_.html, "Write the report as a page to this file").Path().LocalOnly();
    b.Add("json", files_.json,
          "Write the report as JSON to this file; without a file, print the reply as JSON")
        .Path()
        .LocalOnly();
  }

  Result<Reply> Run(OpContext& context) override {
    if (!files_.html.empty() && !HtmlMissingReason().empty()) return ReportHtml(Json()).error();
    NL_ASSIGN(OpenAnalysis open, OpenRunOrFile(context, params_));
    NL_ASSIGN(const Json model, MakeReport(open));
    Reply reply;
    reply.json = ReportReply(model);
    NL_ASSIGN(reply.json["files"], WriteReport(model, files_));
    return reply;
  }

  std::string Text(const Reply& reply, const TextStyle& style) const override {
    return fmt::format("run {}\n{}", TextAt(reply.json, "run_id"), ReportReplyText(reply.json, style));
  }

 private:
  AnalysisParams params_;
  ReportFiles files_;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<AnalyzeOp>(); }

}  // namespace nl::ops::analyze
