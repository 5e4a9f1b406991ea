// SPDX-License-Identifier: Apache-2.0
// `neurolens system`: what this machine is, and what about it needs care.

#include "machine/system.h"

#include "base/file_ops.h"
#include "ops/op.h"
#include "ops/system/reply.h"

namespace nl::ops::system {

namespace {

class SystemOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "system";
    info.summary = "Describe this machine: GPUs, CPU, limits, driver, CUDA, Python packages and their health";
    info.choose_when =
        "Choose it to see versions, clocks and topology, and which versions are incompatible; `doctor` "
        "checks the "
        "store. Over "
        "HTTP and MCP it describes the machine of the server.";
    info.example = "neurolens system --json";
    info.reply = ReplyOf<SystemReply>();
    return info;
  }

  void Bind(ParamBinder& binder) override {
    binder.Add("recording", recording_, "Also try what can be recorded here");
    binder.Add("root", root_, "Read files below this folder instead of /").Path();
  }

  Result<Reply> Run(OpContext&) override {
    if (!root_.empty() && !PathExists(root_))
      return NotFound("the folder of --root does not exist: " + root_);
    SystemReply reply;
    static_cast<machine::System&>(reply) = machine::ReadSystem(root_);
    if (!root_.empty())
      reply.recording_reason = "files of another root: what can be recorded is tried on this machine only";
    else if (!recording_)
      reply.recording_reason = "not asked (--no-recording)";
    else
      reply.recording = RecordingAbilities();
    return Reply::Of(std::move(reply));
  }

  std::string Text(const Reply& any, const TextStyle& style) const override {
    return SystemText(any.As<SystemReply>(), style.width);
  }

 private:
  bool recording_ = true;
  std::string root_;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<SystemOp>(); }

}  // namespace nl::ops::system
