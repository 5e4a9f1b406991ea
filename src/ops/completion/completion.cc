// SPDX-License-Identifier: Apache-2.0
#include "ops/completion/scripts.h"

namespace nl::ops::completion {

namespace {

enum class CompletionShell : uint8_t { kBash, kZsh, kFish };
std::span<const std::string_view> NamesOf(CompletionShell) {
  static constexpr std::string_view kNames[] = {"bash", "zsh", "fish"};
  return kNames;
}

struct CompletionReply {
  CompletionShell shell = CompletionShell::kBash;
  std::string script;
};
void Describe(Record<CompletionReply>& r) {
  r.Name("CompletionReply", "Reply of `neurolens completion`");
  r.Field("shell", &CompletionReply::shell, "The shell");
  r.Field("script", &CompletionReply::script, "Script to load in it");
}

class CompletionOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "completion";
    info.local = true;
    info.summary = "Print a script that completes commands, flags and run names in your shell";
    info.choose_when =
        "Load it once: bash 'source <(neurolens completion bash)', zsh 'source <(neurolens completion zsh)' "
        "after compinit, fish 'neurolens completion fish | source'. Add that line to the start-up file of "
        "the "
        "shell to load it every time.";
    info.example = "neurolens completion bash";
    info.reply = ReplyOf<CompletionReply>();
    return info;
  }

  void Bind(ParamBinder& binder) override {
    binder.Add("shell", shell_, "Shell to print the script for")
        .Positional()
        .Required()
        .Choices({"bash", "zsh", "fish"});
  }

  Result<Reply> Run(OpContext&) override {
    const std::vector<CommandInfo> commands = DescribeCommands(AllOps());
    CompletionReply out;
    if (shell_ == "zsh") {
      out = {CompletionShell::kZsh, ZshScript(commands)};
    } else if (shell_ == "fish") {
      out = {CompletionShell::kFish, FishScript(commands)};
    } else {
      out.script = BashScript(commands);
    }
    Reply reply = Reply::Of(out);
    reply.raw = std::move(out.script);
    return reply;
  }

  std::string Text(const Reply& reply, const TextStyle&) const override { return reply.raw; }

 private:
  std::string shell_;
};

}  // namespace

ValueSource SourceOf(const OpInfo& op, const ParamInfo& param) {
  if (TakesProfiles(op, param)) return {Source::kRunOrPath, {}};
  switch (param.kind) {
    case ParamKind::kChoice: return {Source::kWords, param.choices};
    case ParamKind::kRun: return {Source::kRun, {}};
    case ParamKind::kPath: return {Source::kPath, {}};
    default: return {};
  }
}

ValueSource SourceOf(const GlobalFlag& flag) {
  if (!flag.choices.empty()) return {Source::kWords, flag.choices};
  if (flag.value_name == "DIR" || flag.value_name == "PATH") return {Source::kPath, {}};
  return {};
}

std::string Quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::unique_ptr<Op> Describe() { return std::make_unique<CompletionOp>(); }

}  // namespace nl::ops::completion
