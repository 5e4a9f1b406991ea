// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "ops/completion/scripts.h"

namespace nl::ops::completion {

namespace {

constexpr const char* kZshHead = R"sh(#compdef neurolens
# zsh completion for neurolens, generated: source <(neurolens completion zsh), after compinit

_neurolens_runs() {
  local -a runs
  runs=(${(f)"$(${(Q)_neurolens_program/#\~/$HOME} ${_neurolens_store} __complete runs 2>/dev/null)"})
  compadd -- $runs
}

_neurolens_runs_and_files() {
  _neurolens_runs
  _files
}

_neurolens() {
  local curcontext="$curcontext" state line at
  local -a state_descr globals commands _neurolens_store
  typeset -A opt_args
  local _neurolens_program=$words[1]
  at=${words[(i)--store]}
  if (( at < $#words )); then _neurolens_store=(--store ${(Q)words[at + 1]/#\~/$HOME}); fi
)sh";

constexpr const char* kZshTail = R"sh(      esac
      ;;
  esac
}

# Autoloaded from a file of $fpath it is called at once; sourced, it has to be registered.
if [[ $funcstack[1] == _neurolens ]]; then
  _neurolens "$@"
else
  compdef _neurolens neurolens
fi
)sh";

// Text inside [...] or between colons of an _arguments specification.
std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string Action(const ValueSource& value) {
  switch (value.source) {
    case Source::kWords: return fmt::format("({})", fmt::join(value.words, " "));
    case Source::kRun: return "_neurolens_runs";
    case Source::kPath: return "_files";
    case Source::kRunOrPath: return "_neurolens_runs_and_files";
    case Source::kNone: return " ";
  }
  return " ";
}

std::string FlagSpec(const std::string& flag, const std::string& help, const std::string& value_name,
                     const ValueSource& value, bool repeated) {
  std::string spec = repeated ? "*" : "";
  spec += flag;
  if (!value_name.empty()) spec += "=";
  spec += "[" + Escaped(help) + "]";
  if (!value_name.empty()) spec += ":" + Escaped(value_name) + ":" + Action(value);
  return Quoted(spec);
}

std::string ArgumentsOf(const CommandInfo& command) {
  std::string specs;
  bool rest = false;
  for (const ParamInfo& param : command.params) {
    if (!param.positional) {
      const std::string flag = FlagName(param.name);
      specs +=
          " " + FlagSpec(flag, param.help, ValueName(param), SourceOf(command.op, param), param.repeated);
      if (param.kind == ParamKind::kBool && param.default_value == Json(true)) {
        specs += " " + FlagSpec("--no-" + flag.substr(2), "Off: " + param.help, "", {}, false);
      }
    } else if (!rest) {
      rest = param.repeated;
      const std::string tag = Escaped(PositionalName(param));
      specs += " " + Quoted(fmt::format("{}:{}:{}",
                                        rest             ? "*"
                                        : param.required ? ""
                                                         : ":",
                                        tag, Action(SourceOf(command.op, param))));
    }
  }
  return specs;
}

}  // namespace

std::string ZshScript(const std::vector<CommandInfo>& commands) {
  std::string out = kZshHead;
  out += "  globals=(\n";
  for (const GlobalFlag& flag : GlobalFlags()) {
    out += "    " + FlagSpec(flag.name, flag.help, flag.value_name, SourceOf(flag), false) + "\n";
    if (!flag.short_name.empty()) out += "    " + FlagSpec(flag.short_name, flag.help, "", {}, false) + "\n";
  }
  out += "  )\n  _arguments -C $globals '1: :->command' '*:: :->argument' && return\n";
  out += "  case $state in\n    command)\n      commands=(\n";
  for (const CommandInfo& command : commands) {
    out += "        " + Quoted(command.op.name + ":" + Escaped(command.op.summary)) + "\n";
  }
  out += "      )\n      _describe command commands\n      ;;\n    argument)\n      case $words[1] in\n";
  for (const CommandInfo& command : commands) {
    out += fmt::format("        {}) _arguments $globals{} ;;\n", command.op.name, ArgumentsOf(command));
  }
  return out + kZshTail;
}

}  // namespace nl::ops::completion
