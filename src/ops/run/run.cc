// SPDX-License-Identifier: Apache-2.0
// `neurolens run`: records, imports and analyzes a program in one step.

#include <filesystem>

#include <fmt/format.h>

#include "base/file_ops.h"
#include "base/terminal.h"
#include "capture/launcher/capture_directory.h"
#include "ops/open_store.h"
#include "ops/record_program.h"
#include "ops/record_run.h"
#include "ops/write_report.h"

namespace nl::ops::run {

namespace {

struct RunReply {
  std::optional<std::string> run_id;
  RecordReply capture;
  bool capture_kept = false;
  std::optional<ReportReply> analysis;
  std::optional<std::string> import_problem;
};
void Describe(Record<RunReply>& r) {
  r.Name("RunReply", "Reply of `neurolens run`");
  r.Field("run_id", &RunReply::run_id,
          "The run in the store of this machine; null: it is on the server (capture.served), or was not "
          "imported");
  r.Field("capture", &RunReply::capture, "The recorded program");
  r.Field("capture_kept", &RunReply::capture_kept, "The folder of the capture still exists");
  r.Field("analysis", &RunReply::analysis, "Reply of `analyze`, or of `report` with --report");
  r.Field("import_problem", &RunReply::import_problem, "Why there is no run, or no analysis of it");
}

class RunProgramOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "run";
    info.local = true;
    info.runs_programs = true;
    info.summary = "Record a program, import the recording and show where the time went";
    info.choose_when =
        "Choose it to profile a program on this machine: GPU, CPU, Python and ranges on one clock, without "
        "changing the program. `record` only records.";
    info.example = "neurolens run -- python3 infer.py";
    info.starts_here = true;
    info.cost = Cost::kMinutes;
    info.writes = true;
    info.bad_input_status = 125;
    info.exit_status = kProgramsExitStatus;
    info.stdout_is_programs = true;
    info.reply = ReplyOf<RunReply>();
    info.tool = {8, "record"};
    return info;
  }

  void Bind(ParamBinder& binder) override {
    binder
        .Add("out", params_.out, "Keep the capture in this folder; otherwise it is deleted after the import")
        .Path();
    binder.Add("report", report_, "Also write the report files, into report-RUN in the current folder");
    serve_.Bind(binder);
    params_.Bind(binder);
  }

  Result<Reply> Run(OpContext& context) override {
    NL_ASSIGN(capture::LaunchOptions options, params_.Options());
    const bool keep = !options.directory.empty();
    std::optional<TempDir> scratch;  // for this user alone, under a name that nobody can guess
    if (!keep) {
      NL_ASSIGN(scratch, TempDir::Make("neurolens-run-"));
      options.directory = fmt::format("{}/{}", scratch->path(), capture::DefaultDirectory(options.command));
    }
    std::unique_ptr<ServedRecording> served;
    if (!serve_.url.empty()) {
      NL_ASSIGN(served, ServedRecording::Make(context, serve_));
    }
    NL_ASSIGN(RecordedRun recorded, RecordAndImport(context, options, params_.tags, served.get()));
    RunReply out;
    out.capture = std::move(recorded.capture);
    out.run_id = recorded.run_id;
    const bool on_server = out.capture.served && out.capture.served->run_id;
    const Status explained = on_server                ? Status()
                             : recorded.imported.ok() ? Explain(context, out)
                                                      : recorded.imported;
    if (!explained.ok()) out.import_problem = explained.error().ToString();
    // A capture that could not be imported is kept: it may be all that is left of a long run. One of a
    // program that ended before anything happened holds nothing.
    const bool empty = !explained.ok() && HoldsNothing(out.capture, explained.error());
    // So is one that the server does not have: it can be sent later.
    out.capture_kept = keep || (!on_server && (!out.run_id || out.capture.served) && !empty);
    if (out.capture_kept && scratch) scratch->Release();
    const int exit_status = out.capture.exit_status;
    Reply reply = Reply::Of(std::move(out));
    reply.answer_status = exit_status;
    return reply;
  }

  std::string Text(const Reply& any, const TextStyle& style) const override {
    const auto& reply = any.As<RunReply>();
    std::string out = "\n" + RecordText(reply.capture, style);
    if (reply.import_problem) {
      out += Wrap(fmt::format("{}: {}", reply.run_id ? "not analyzed" : "not imported",
                              PrintableText(*reply.import_problem)),
                  style.width, 2) +
             "\n";
    }
    if (reply.capture_kept) out += fmt::format("wrote {}\n", PrintableText(reply.capture.directory));
    if (reply.capture.served) out += ServedText(*reply.capture.served, reply.capture.directory, style);
    if (reply.run_id) out += fmt::format("run {}\n", *reply.run_id);
    if (reply.analysis) out += ReportReplyText(*reply.analysis, style);
    return out;
  }

 private:
  static bool HoldsNothing(const RecordReply& capture, const Error& import_error) {
    return capture.cpu_samples + capture.kernels + capture.ranges + capture.lost_records +
                   capture.left_running ==
               0 &&
           import_error.message.find("has no events") != std::string::npos;
  }

  // Through the operation itself, so that it is the same as with `analyze`.
  Status Explain(OpContext& context, RunReply& out) const {
    const std::unique_ptr<Op> explain = MakeOp(report_ ? "report" : "analyze");
    NL_ASSIGN(const Reply explained,
              RunOp(*explain, Json{{report_ ? "run" : "target", *out.run_id}}, context));
    out.analysis = explained.As<ReportReply>();
    return {};
  }

  RecordParams params_;
  ServeParams serve_;
  bool report_ = false;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<RunProgramOp>(); }

}  // namespace nl::ops::run
