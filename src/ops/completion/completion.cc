// SPDX-License-Identifier: Apache-2.0
#include "ops/completion/scripts.h"

namespace nl::ops::completion {

namespace {

class CompletionOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "completion";
    info.summary = "Print a script that teaches your shell the commands, flags and run names.";
    info.choose_when =
        "Load it once: bash 'source <(neurolens completion bash)', zsh 'source <(neurolens completion zsh)' "
        "after compinit, fish 'neurolens completion fish | source'; put that line in the shell's start-up "
        "file "
        "to keep it.";
    info.example = "neurolens completion bash";
    info.reply_schema = Json{
        {"type", "object"},
        {"required", {"shell", "script"}},
        {"properties", {{"shell", {{"enum", {"bash", "zsh", "fish"}}}}, {"script", {{"type", "string"}}}}}};
    return info;
  }

  void Bind(ParamBinder& binder) override {
    binder.Add("shell", shell_, "The shell the script is for.")
        .Positional()
        .Required()
        .Choices({"bash", "zsh", "fish"});
  }

  Result<Reply> Run(OpContext&) override {
    const std::vector<CommandInfo> commands = DescribeCommands(AllOps());
    Reply reply;
    reply.raw = shell_ == "bash"  ? BashScript(commands)
                : shell_ == "zsh" ? ZshScript(commands)
                                  : FishScript(commands);
    reply.json = Json{{"shell", shell_}, {"script", reply.raw}};
    return reply;
  }

  std::string Text(const Reply& reply, const TextStyle&) const override { return reply.raw; }

 private:
  std::string shell_;
};

}  // namespace

ValueSource SourceOf(const ParamInfo& param) {
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
