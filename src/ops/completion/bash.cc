// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "ops/completion/scripts.h"

namespace nl::ops::completion {

namespace {

// Bash splits words at "=", ":" and "@" on its own account, so the script splits the line
// itself, completes whole words, and takes off again what readline already has.
constexpr const char* kBashHead =
    R"sh(# bash completion for neurolens, generated: source <(neurolens completion bash)

_neurolens_runs() {
  local program=${_neurolens_words[0]/#\~/$HOME} i
  local -a store=()
  for ((i = 1; i + 1 < ${#_neurolens_words[@]}; i++)); do
    if [[ ${_neurolens_words[i]} == --store ]]; then
      store=(--store "${_neurolens_words[i + 1]/#\~/$HOME}")
    fi
  done
  "$program" "${store[@]}" __complete runs 2>/dev/null
}

# What completes position $2 (from 0) of command $1: "run", "path", "run or path", "words ..." or nothing.
_neurolens_positional() {
  case "$1" in
)sh";

constexpr const char* kValueHead = R"sh(  esac
}

# What completes the value of flag $2 of command $1; fails when the flag takes none.
_neurolens_value() {
  case "$1 $2" in
)sh";

constexpr const char* kFlagsHead = R"sh(    *) return 1 ;;
  esac
}

_neurolens_flags() {
  case "$1" in
)sh";

constexpr const char* kBashTail = R"sh(  esac
}

_neurolens() {
  local line=${COMP_LINE:0:COMP_POINT} cur="" command="" source="" word flag i
  local -a _neurolens_words=()
  local position=0
  read -ra _neurolens_words <<<"$line"
  if [[ $line != *[[:space:]] ]]; then
    cur=${_neurolens_words[${#_neurolens_words[@]} - 1]}
    unset "_neurolens_words[${#_neurolens_words[@]}-1]"
  fi
  local pending=""
  for ((i = 1; i < ${#_neurolens_words[@]}; i++)); do
    word=${_neurolens_words[i]}
    if [[ -n $pending ]]; then
      pending=""
    elif [[ $word == -?* ]]; then
      if [[ $word != *=* ]] && _neurolens_value "$command" "$word" >/dev/null; then pending=$word; fi
    elif [[ -z $command ]]; then
      command=$word
    else
      position=$((position + 1))
    fi
  done

  local prefix=""
  if [[ -n $pending ]]; then
    source=$(_neurolens_value "$command" "$pending")
  elif [[ $cur == --*=* ]]; then
    flag=${cur%%=*}
    prefix=$flag=
    source=$(_neurolens_value "$command" "$flag")
  elif [[ $cur == -* ]]; then
    source="words $(_neurolens_flags "$command")"
  elif [[ -z $command ]]; then
    source="words $_neurolens_commands"
  else
    source=$(_neurolens_positional "$command" "$position")
  fi

  local value=${cur#"$prefix"}
  COMPREPLY=()
  case "$source" in
    "words "*) mapfile -t COMPREPLY < <(compgen -W "${source#words }" -- "$value") ;;
    run) mapfile -t COMPREPLY < <(compgen -W "$(_neurolens_runs)" -- "$value") ;;
    "run or path")
      mapfile -t COMPREPLY < <(compgen -W "$(_neurolens_runs)" -- "$value"; compgen -f -- "$value")
      compopt -o filenames 2>/dev/null
      ;;
    path)
      mapfile -t COMPREPLY < <(compgen -f -- "$value")
      compopt -o filenames 2>/dev/null
      ;;
  esac
  # Readline replaces only what follows its last "=" or ":" (a leading "@" it does replace).
  local rest=${value##*[=:]}
  local before=${value%"$rest"}
  if [[ -n $before && $source != *path ]]; then
    for i in "${!COMPREPLY[@]}"; do COMPREPLY[i]=${COMPREPLY[i]#"$before"}; done
  fi
}

complete -F _neurolens neurolens
)sh";

std::string SourceWord(const ValueSource& value) {
  switch (value.source) {
    case Source::kWords: return fmt::format("words {}", fmt::join(value.words, " "));
    case Source::kRun: return "run";
    case Source::kPath: return "path";
    case Source::kRunOrPath: return "run or path";
    case Source::kNone: return "";
  }
  return "";
}

std::string PositionalCases(const CommandInfo& command) {
  std::string cases;
  int index = 0;
  for (const ParamInfo& param : command.params) {
    if (!param.positional) continue;
    const std::string pattern = param.repeated ? "*" : fmt::format("{}", index++);
    cases += fmt::format(" {}) echo {} ;;", pattern, Quoted(SourceWord(SourceOf(command.op, param))));
    if (param.repeated) break;
  }
  if (cases.empty()) return "";
  return fmt::format("    {}) case \"$2\" in{} esac ;;\n", command.op.name, cases);
}

}  // namespace

std::string BashScript(const std::vector<CommandInfo>& commands) {
  std::string names, positionals, values, flags, global_flags;
  for (const GlobalFlag& flag : GlobalFlags()) {
    global_flags += (global_flags.empty() ? "" : " ") + flag.name;
  }
  for (const CommandInfo& command : commands) {
    names += (names.empty() ? "" : " ") + command.op.name;
    positionals += PositionalCases(command);
    std::string own_flags;
    for (const ParamInfo& param : command.params) {
      if (param.positional) continue;
      const std::string flag = FlagName(param.name);
      own_flags += flag + " ";
      if (param.kind == ParamKind::kBool) {
        if (param.default_value == Json(true)) own_flags += "--no-" + flag.substr(2) + " ";
        continue;
      }
      values += fmt::format("    {} echo {} ;;\n", Quoted(command.op.name + " " + flag) + ")",
                            Quoted(SourceWord(SourceOf(command.op, param))));
    }
    flags += fmt::format("    {}) echo {} ;;\n", command.op.name, Quoted(own_flags + global_flags));
  }
  for (const GlobalFlag& flag : GlobalFlags()) {
    if (flag.value_name.empty()) continue;
    values += fmt::format("    *' {}') echo {} ;;\n", flag.name, Quoted(SourceWord(SourceOf(flag))));
  }
  flags += fmt::format("    *) echo {} ;;\n", Quoted(global_flags));
  return std::string(kBashHead) + positionals + kValueHead + values + kFlagsHead + flags + kBashTail +
         fmt::format("_neurolens_commands={}\n", Quoted(names));
}

}  // namespace nl::ops::completion
