// SPDX-License-Identifier: Apache-2.0
// `neurolens run`: a program recorded, imported and explained in one go.

#include <filesystem>

#include <fmt/format.h>

#include "base/file_ops.h"
#include "base/terminal.h"
#include "capture/launcher/capture_directory.h"
#include "ops/open_snapshot.h"
#include "ops/open_store.h"
#include "ops/record_program.h"
#include "ops/write_report.h"
#include "report/report_value.h"

namespace nl::ops::run {

namespace {

class RunProgramOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "run";
    info.summary = "Record a program, import what it did, and say where its time went";
    info.choose_when =
        "Choose it to profile a program here: GPU, CPU, Python and ranges on one clock, with no change to "
        "it. "
        "`record` only records.";
    info.example = "neurolens run -- python3 infer.py";
    info.cost = Cost::kMinutes;
    info.writes = true;
    info.bad_input_status = 125;
    info.exit_status = kProgramsExitStatus;
    info.stdout_is_programs = true;
    info.reply_schema = SchemaFromText(fmt::format(
        R"({{"type": "object", "required": ["run_id", "capture", "analysis", "import_problem"], "properties": {{
      "run_id": {{"type": ["string", "null"]}}, "capture": {0}, "capture_kept": {{"type": "boolean"}},
      "analysis": {{"type": ["object", "null"], "description": "as `analyze` replies, or as `report` with --report"}},
      "import_problem": {{"type": ["string", "null"], "description": "why there is no run, or no analysis of it"}}}}}})",
        CaptureSchema()));
    return info;
  }

  void Bind(ParamBinder& binder) override {
    binder.Add("out", params_.out, "Keep the capture in this folder; otherwise it is removed once imported")
        .Path()
        .LocalOnly();
    binder.Add("report", report_, "Write the report's files too, into report-RUN in the current folder");
    params_.Bind(binder);
  }

  Result<Reply> Run(OpContext& context) override {
    NL_ASSIGN(capture::LaunchOptions options, params_.Options());
    const bool keep = !options.directory.empty();
    if (!keep) {
      std::error_code code;
      const auto scratch = std::filesystem::temp_directory_path(code);
      options.directory =
          fmt::format("{}/{}", (code ? std::filesystem::path("/tmp") : scratch).string(),
                      std::filesystem::path(capture::DefaultDirectory(options.command)).string());
      options.directory.insert(options.directory.size() - 6, fmt::format("-{}", getpid()));
    }
    NL_ASSIGN(const capture::LaunchResult result, RecordProgram(options));
    Reply reply;
    reply.answer_status = result.exit_status;
    reply.json = {{"run_id", Json()}, {"analysis", Json()}, {"import_problem", Json()}};
    reply.json["capture"] = CaptureJson(result);
    const Status explained = Explain(context, result.directory, reply.json);
    if (!explained.ok()) reply.json["import_problem"] = explained.error().ToString();
    // What could not be read is kept: it may be all there is of a long run.
    const bool remove = !keep && !reply.json["run_id"].is_null();
    if (remove) capture::RemoveCaptureDirectory(result.directory);
    reply.json["capture_kept"] = !remove;
    return reply;
  }

  std::string Text(const Reply& reply, const TextStyle& style) const override {
    std::string out = "\n" + CaptureText(reply.json["capture"], style);
    if (!reply.json["import_problem"].is_null()) {
      out += Wrap(fmt::format("{}: {}", reply.json["run_id"].is_null() ? "not imported" : "not explained",
                              PrintableText(reply.json["import_problem"].get<std::string>())),
                  style.width, 2) +
             "\n";
    }
    if (reply.json["capture_kept"].get<bool>())
      out += fmt::format("wrote {}\n", PrintableText(TextAt(reply.json["capture"], "directory")));
    if (!reply.json["run_id"].is_null()) out += fmt::format("run {}\n", TextAt(reply.json, "run_id"));
    if (!reply.json["analysis"].is_null()) out += ReportReplyText(reply.json["analysis"], style);
    return out;
  }

 private:
  // Through the operations themselves, so that the run is the same however it came to be.
  Status Explain(OpContext& context, const std::string& directory, Json& out) const {
    const std::unique_ptr<Op> import = MakeOp("import");
    Json args{{"paths", Json::array({directory})}};
    if (!params_.tags.empty()) args["tag"] = params_.tags;
    NL_ASSIGN(const Reply imported, RunOp(*import, args, context));
    const Json& runs = ListAt(imported.json, "runs");
    if (runs.empty()) return InvalidInput("the capture holds no run");
    out["run_id"] = TextAt(runs[0], "run_id");
    NL_ASSIGN(const OpenRun run, OpenSnapshot(context, TextAt(out, "run_id")));
    NL_ASSIGN(const Json document, ReadDocument(run));
    const Json::json_pointer duty_cycle("/capture/duty_cycle");
    if (document.contains(duty_cycle)) out["capture"]["duty_cycle"] = document[duty_cycle];
    const std::unique_ptr<Op> explain = MakeOp(report_ ? "report" : "analyze");
    NL_ASSIGN(const Reply explained,
              RunOp(*explain, Json{{report_ ? "run" : "target", out["run_id"]}}, context));
    out["analysis"] = explained.json;
    return {};
  }

  RecordParams params_;
  bool report_ = false;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<RunProgramOp>(); }

}  // namespace nl::ops::run
