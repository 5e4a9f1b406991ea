// SPDX-License-Identifier: Apache-2.0
// `neurolens report`: writes the report of a run as files to read and share.

#include <fmt/format.h>

#include "ops/write_report.h"
#include "report/report_forms.h"

namespace nl::ops::report {

namespace {

class ReportOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "report";
    info.local = true;
    info.summary = "Write the report of a run: an interactive HTML page, Markdown and JSON";
    info.choose_when =
        "Choose it to read or share the full analysis of a run. `analyze` also imports; `summary` prints to "
        "the terminal.";
    info.example = "neurolens report @latest --out report --format md";
    info.cost = Cost::kSeconds;
    info.reply = ReplyOf<ReportReply>();
    return info;
  }

  void Bind(ParamBinder& b) override {
    params_.BindRun(b);
    b.Add("out", out_, "Folder for the files; default: report-RUN in the current folder").Path();
    b.Add("format", format_, "Formats to write").Choices({"all", "md", "html", "json"});
    b.Add("html", html_, "Write only the HTML page, to this file").Path();
    b.Add("md", md_, "Write only the Markdown report, to this file").Path();
    params_.BindPhaseOfReport(b);
    params_.BindRules(b);
    params_.BindPeaks(b);
    params_.BindModel(b);
  }

  Result<Reply> Run(OpContext& context) override {
    std::vector<SkippedReport> skipped;
    const bool files_named = !html_.empty() || !md_.empty();
    if (files_named && (!out_.empty() || format_ != "all"))
      return InvalidInput("--html and --md name single files; --out and --format write a folder")
          .Hint("use one or the other");
    const std::string missing = HtmlMissingReason();
    bool html = files_named ? !html_.empty() : format_ == "all" || format_ == "html";
    if (html && !missing.empty()) {
      if (files_named || format_ == "html") return ReportHtml({}).error();
      skipped.push_back({"report.html", missing});
      html = false;
    }
    NL_ASSIGN(OpenAnalysis open, Analyze(context, params_));
    NL_ASSIGN(const Report report, MakeReport(open));
    ReportReply reply = ReportReplyOf(report);
    if (files_named) {
      ReportFiles named;
      named.html = html_;
      named.md = md_;
      NL_ASSIGN(reply.files, WriteReport(report, named));
      return Reply::Of(std::move(reply));
    }
    const std::string folder = out_.empty() ? "report-" + open.run.run.run_id.substr(0, 13) : out_;
    const auto file = [&folder](const char* name) { return folder + "/" + name; };
    ReportFiles files;
    if (html) files.html = file("report.html");
    if (format_ == "all" || format_ == "json") files.json = file("report.json");
    if (format_ == "all" || format_ == "md") {
      files.md = file("report.md");
      files.operators_md = file("operators.md");
      files.kernels_md = file("kernels.md");
      files.stakeholder_md = file("stakeholder_summary.md");
    }
    NL_ASSIGN(reply.files, WriteReport(report, files));
    reply.skipped = std::move(skipped);
    return Reply::Of(std::move(reply));
  }

  std::string Text(const Reply& reply, const TextStyle& style) const override {
    return ReportReplyText(reply.As<ReportReply>(), style);
  }

 private:
  AnalysisParams params_;
  std::string out_, format_ = "all", html_, md_;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<ReportOp>(); }

}  // namespace nl::ops::report
