// SPDX-License-Identifier: Apache-2.0
// `neurolens send`: a capture that is on this machine becomes a run of a server.

#include <fmt/format.h>

#include "base/file_ops.h"
#include "base/terminal.h"
#include "ops/served_recording.h"

namespace nl::ops::send {

namespace {

class SendOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "send";
    info.local = true;
    info.summary = "Send a capture (.nlcap) of this machine to a server, which imports it";
    info.choose_when =
        "Choose it for a capture that `run --serve` or `record --serve` could not send, or that was recorded "
        "without a server. `import` reads a capture into the store of this machine.";
    info.example = "neurolens send infer.nlcap --serve https://lens.example.com:7070";
    info.cost = Cost::kMinutes;
    info.reply = ReplyOf<ServedReply>();
    return info;
  }

  void Bind(ParamBinder& binder) override {
    binder.Add("capture", capture_, "Folder of the capture").Positional().Required().Path();
    binder.Add("tag", tags_, "Tag for the run").KeyValue();
    serve_.Bind(binder);
  }

  Result<Reply> Run(OpContext& context) override {
    if (serve_.url.empty())
      return InvalidInput("the server is missing").Hint("name it: --serve https://HOST:PORT");
    if (!IsDirectory(capture_))
      return NotFound(fmt::format("{} is not a folder", PrintableText(capture_)))
          .Hint("a capture is a folder of .nlc files, as `neurolens record` writes it");
    NL_ASSIGN(const std::unique_ptr<ServedRecording> served, ServedRecording::Make(context, serve_));
    ServedReply out = served->Finish(capture_, tags_);
    if (out.problem) return IoError(fmt::format("not sent to {}: {}", out.url, *out.problem), 0);
    return Reply::Of(std::move(out));
  }

  std::string Text(const Reply& any, const TextStyle& style) const override {
    return ServedText(any.As<ServedReply>(), capture_, style);
  }

 private:
  std::string capture_;
  std::vector<std::string> tags_;
  ServeParams serve_;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<SendOp>(); }

}  // namespace nl::ops::send
