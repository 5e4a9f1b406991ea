// SPDX-License-Identifier: Apache-2.0
// `neurolens record`: records a program into a folder, to be imported here or elsewhere.

#include <fmt/format.h>

#include "base/terminal.h"
#include "ops/open_store.h"
#include "ops/record_program.h"

namespace nl::ops::record {

namespace {

class RecordOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "record";
    info.local = true;
    info.runs_programs = true;
    info.summary = "Record a program into a folder (.nlcap), without importing it";
    info.choose_when =
        "Choose it when the store is on another machine: `neurolens import DIR.nlcap` reads the folder "
        "anywhere. `run` records and imports.";
    info.example = "neurolens record --out infer.nlcap -- python3 infer.py";
    info.cost = Cost::kMinutes;
    info.bad_input_status = 125;
    info.exit_status = kProgramsExitStatus;
    info.stdout_is_programs = true;
    info.reply = ReplyOf<RecordReply>();
    info.tool.name = "record_only";  // agents record with `run`, under the name `record`
    return info;
  }

  void Bind(ParamBinder& binder) override {
    binder
        .Add("out", params_.out,
             "Folder for the capture; otherwise PROGRAM-DATE-TIME.nlcap in the current folder")
        .Path();
    serve_.Bind(binder);
    params_.Bind(binder);
  }

  Result<Reply> Run(OpContext& context) override {
    NL_ASSIGN(capture::LaunchOptions options, params_.Options());
    if (options.directory.empty()) options.directory = capture::DefaultDirectory(options.command);
    std::unique_ptr<ServedRecording> served;
    if (!serve_.url.empty()) {
      NL_ASSIGN(served, ServedRecording::Make(context, serve_));
      served->Watch(options);
    }
    ListedRecording listed(context, false);
    NL_ASSIGN(const capture::LaunchResult result, RecordProgram(options, listed));
    RecordReply out = RecordReplyOf(result);
    if (served) out.served = served->Finish(out.directory, params_.tags);
    Reply reply = Reply::Of(std::move(out));
    reply.answer_status = result.exit_status;
    return reply;
  }

  std::string Text(const Reply& any, const TextStyle& style) const override {
    const auto& reply = any.As<RecordReply>();
    std::string out = RecordText(reply, style) + fmt::format("wrote {}\n", PrintableText(reply.directory));
    if (reply.served) out += ServedText(*reply.served, reply.directory, style);
    return out;
  }

 private:
  RecordParams params_;
  ServeParams serve_;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<RecordOp>(); }

}  // namespace nl::ops::record
