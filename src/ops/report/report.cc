// SPDX-License-Identifier: Apache-2.0
// `neurolens report`: one run explained, as files to read and share.

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
    info.summary = "Explain a run in files: an interactive page, Markdown and JSON from one model";
    info.choose_when =
        "Choose it to read or share a run at leisure. `analyze` also imports; `summary` answers in the "
        "terminal.";
    info.example = "neurolens report @latest --out report --format md";
    info.cost = Cost::kSeconds;
    info.reply_schema = ReportReplySchema();
    return info;
  }

  void Bind(ParamBinder& b) override {
    params_.BindRun(b);
    b.Add("out", out_, "Folder for the files; otherwise report-RUN in the current folder").Path().LocalOnly();
    b.Add("format", format_, "Forms to write").Choices({"all", "md", "html", "json"});
    params_.BindRules(b);
    params_.BindPeaks(b);
    params_.BindModel(b);
  }

  Result<Reply> Run(OpContext& context) override {
    Json skipped = Json::array();
    const std::string missing = HtmlMissingReason();
    bool html = format_ == "all" || format_ == "html";
    if (html && !missing.empty()) {
      if (format_ == "html") return ReportHtml(Json::object()).error();
      skipped.push_back({{"file", "report.html"}, {"reason", missing}});
      html = false;
    }
    NL_ASSIGN(OpenAnalysis open, Analyze(context, params_));
    NL_ASSIGN(const Json model, MakeReport(open));
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
    Reply reply;
    reply.json = ReportReply(model);
    NL_ASSIGN(reply.json["files"], WriteReport(model, files));
    if (!skipped.empty()) reply.json["skipped"] = std::move(skipped);
    return reply;
  }

  std::string Text(const Reply& reply, const TextStyle& style) const override {
    return ReportReplyText(reply.json, style);
  }

 private:
  AnalysisParams params_;
  std::string out_, format_ = "all";
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<ReportOp>(); }

}  // namespace nl::ops::report
