// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "ops/completion/scripts.h"

namespace nl::ops::completion {

namespace {

// Inside single quotes fish knows two escapes, \\ and \'.
std::string FishQuoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::string ValueArguments(const ValueSource& value) {
  switch (value.source) {
    case Source::kWords: return " -x -a " + FishQuoted(fmt::format("{}", fmt::join(value.words, " ")));
    case Source::kRun: return " -x -a '(__neurolens_runs)'";
    case Source::kPath: return " -r -F";
    case Source::kRunOrPath: return " -r -F -a '(__neurolens_runs)'";
    case Source::kNone: return " -x";
  }
  return " -x";
}

std::string Line(const std::string& condition, const std::string& rest, const std::string& help) {
  std::string line = "complete -c neurolens";
  if (!condition.empty()) line += " -n " + FishQuoted(condition);
  return line + rest + (help.empty() ? "" : " -d " + FishQuoted(help)) + "\n";
}

std::string Functions() {
  std::string valued;
  for (const GlobalFlag& flag : GlobalFlags()) {
    if (!flag.value_name.empty()) valued += " " + flag.name;
  }
  return fmt::format(R"sh(# fish completion for neurolens, generated: neurolens completion fish | source

# The command among the words typed so far; fails when there is none yet.
function __neurolens_command
    set -l words (commandline -opc)
    set -e words[1]
    set -l skip 0
    for word in $words
        if test $skip = 1
            set skip 0
            continue
        end
        switch $word
            case{}
                set skip 1
            case '-*'
            case '*'
                echo $word
                return 0
        end
    end
    return 1
end

function __neurolens_runs
    set -l words (commandline -opc)
    set -l store
    set -l at (contains -i -- --store $words); and set store --store $words[(math $at + 1)]
    $words[1] $store __complete runs 2>/dev/null
end

)sh",
                     valued);
}

std::string CommandLines(const CommandInfo& command) {
  const std::string condition = "contains -- (__neurolens_command) " + command.op.name;
  std::string out =
      Line("not __neurolens_command >/dev/null", " -f -a " + FishQuoted(command.op.name), command.op.summary);
  for (const ParamInfo& param : command.params) {
    const ValueSource value = SourceOf(command.op, param);
    if (!param.positional) {
      const std::string flag = FlagName(param.name).substr(2);
      const bool is_bool = param.kind == ParamKind::kBool;
      out += Line(condition, " -l " + flag + (is_bool ? "" : ValueArguments(value)), param.help);
      if (is_bool && param.default_value == Json(true)) {
        out += Line(condition, " -l no-" + flag, "Off: " + param.help);
      }
    } else if (value.source == Source::kPath) {
      out += Line(condition, " -F", "");
    } else if (value.source == Source::kRunOrPath) {
      out += Line(condition, " -F -a '(__neurolens_runs)'", PositionalName(param));
    } else if (value.source != Source::kNone) {
      out += Line(condition, " -f" + ValueArguments(value).substr(3), PositionalName(param));
    }
  }
  return out;
}

}  // namespace

std::string FishScript(const std::vector<CommandInfo>& commands) {
  std::string out = Functions();
  out += "complete -c neurolens -e\ncomplete -c neurolens -f\n";
  for (const GlobalFlag& flag : GlobalFlags()) {
    std::string rest = " -l " + flag.name.substr(2);
    if (!flag.short_name.empty()) rest += " -s " + flag.short_name.substr(1);
    if (!flag.value_name.empty()) rest += ValueArguments(SourceOf(flag));
    out += Line("", rest, flag.help);
  }
  for (const CommandInfo& command : commands) out += CommandLines(command);
  return out;
}

}  // namespace nl::ops::completion
