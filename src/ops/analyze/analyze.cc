// SPDX-License-Identifier: Apache-2.0
// `neurolens analyze`: imports a file if needed, and gives the verdict of the run in one command.

#include <fmt/format.h>

#include "ops/open_run_or_file.h"
#include "ops/write_report.h"
#include "report/report_forms.h"

namespace nl::ops::analyze {

namespace {

class AnalyzeOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "analyze";
    info.summary = "Import a profile if needed, then show the verdict, where the time went, and the findings";
    info.choose_when =
        "Choose it to go from a file to an answer in one step. `report` writes all files of a report into a "
        "folder.";
    info.example = "neurolens analyze trace.json.gz --html report.html";
    info.starts_here = true;
    info.cost = Cost::kSeconds;
    info.writes = true;
    info.writes_by_import = true;
    info.reply = ReplyOf<ReportReply>();
    return info;
  }

  void Bind(ParamBinder& b) override {
    b.Add("target", params_.run, "Run, or profile to import: a file, a folder of ranks, or -")
        .Positional()
        .RunOrFile();
    params_.BindPhaseOfReport(b);
    params_.BindRules(b);
    params_.BindPeaks(b);
    params_.BindModel(b);
    b.Add("md", files_.md, "Write the report as Markdown to this file").Path();
    b.Add("html", files_.html, "Write the report as an HTML page to this file").Path();
    b.Add("json", files_.json,
          "Write the report as JSON to this file; without a path, print the reply as JSON")
        .Path();
  }

  Result<Reply> Run(OpContext& context) override {
    if (!files_.html.empty() && !HtmlMissingReason().empty()) return ReportHtml({}).error();
    NL_ASSIGN(OpenAnalysis open, OpenRunOrFile(context, params_));
    NL_ASSIGN(const Report report, MakeReport(open));
    ReportReply reply = ReportReplyOf(report);
    NL_ASSIGN(reply.files, WriteReport(report, files_));
    return Reply::Of(std::move(reply));
  }

  std::string Text(const Reply& any, const TextStyle& style) const override {
    const auto& reply = any.As<ReportReply>();
    return fmt::format("run {}\n{}", reply.run_id, ReportReplyText(reply, style));
  }

 private:
  AnalysisParams params_;
  ReportFiles files_;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<AnalyzeOp>(); }

}  // namespace nl::ops::analyze
