// SPDX-License-Identifier: Apache-2.0
#include "ops/command.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "ops/settings.h"

namespace nl {

namespace {

std::string Upper(std::string_view text) {
  std::string out;
  for (const char c : text) out += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

// "1000000000" rather than "1e+09".
std::string Number(double value) {
  return value == std::floor(value) && std::fabs(value) < 1e15 ? fmt::format("{:.0f}", value)
                                                               : fmt::format("{}", value);
}

std::string SettingValueName(const SettingSpec& spec) {
  switch (spec.kind) {
    case SettingSpec::Kind::kInt: return "N";
    case SettingSpec::Kind::kChoice: return fmt::format("{}", fmt::join(spec.choices, "|"));
    case SettingSpec::Kind::kPath: return spec.key == "store" ? "DIR" : "PATH";
    case SettingSpec::Kind::kString: return "TEXT";
  }
  return "TEXT";
}

std::vector<GlobalFlag> MakeGlobalFlags() {
  std::vector<GlobalFlag> flags{
      {"--help", "-h", "", "Show help for the program or the command.", {}, ""},
      {"--json", "", "", "Print the reply, and an error, as JSON.", {}, ""},
      {"--quiet", "-q", "", "Show no progress.", {}, ""},
      {"--version", "-V", "", "Print the version.", {}, ""},
  };
  for (const SettingSpec& spec : Settings::Specs()) {
    flags.push_back({FlagName(spec.key),
                     "",
                     SettingValueName(spec),
                     std::string(spec.description),
                     {spec.choices.begin(), spec.choices.end()},
                     std::string(spec.key)});
  }
  return flags;
}

}  // namespace

CommandInfo DescribeCommand(Op& op) {
  ParamBinder binder;
  op.Bind(binder);
  return {op.Info(), binder.params()};
}

std::vector<CommandInfo> DescribeCommands(const std::vector<OpEntry>& ops) {
  std::vector<CommandInfo> commands;
  for (const OpEntry& entry : ops) {
    CommandInfo command = DescribeCommand(*entry.make());
    if (!command.op.hidden) commands.push_back(std::move(command));
  }
  return commands;
}

const std::vector<GlobalFlag>& GlobalFlags() {
  static const std::vector<GlobalFlag> flags = MakeGlobalFlags();
  return flags;
}

std::string FlagName(std::string_view param) {
  std::string name = "--" + std::string(param);
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

std::string ValueName(const ParamInfo& param) {
  switch (param.kind) {
    case ParamKind::kInt: return "N";
    case ParamKind::kNumber: return "X";
    case ParamKind::kBool: return "";
    case ParamKind::kChoice: return fmt::format("{}", fmt::join(param.choices, "|"));
    case ParamKind::kPath: return "PATH";
    case ParamKind::kRun: return "RUN";
    case ParamKind::kKeyValue: return "KEY=VALUE";
    case ParamKind::kString: return "TEXT";
  }
  return "TEXT";
}

std::string PositionalName(const ParamInfo& param) {
  const std::string name = Upper(param.name) + (param.repeated ? "..." : "");
  return param.required ? name : "[" + name + "]";
}

std::string FlagUsage(const ParamInfo& param) {
  const std::string flag = FlagName(param.name);
  if (param.kind != ParamKind::kBool) return flag + " " + ValueName(param) + (param.repeated ? " ..." : "");
  return param.default_value == Json(true) ? "--[no-]" + flag.substr(2) : flag;
}

std::string ParamHelp(const ParamInfo& param) {
  std::string help = param.help;
  if (!help.empty() && help.back() != '.') help += '.';
  return help;
}

std::string ParamNotes(const ParamInfo& param) {
  std::vector<std::string> notes;
  if (param.required && !param.positional) notes.push_back("required");
  if (param.repeated && !param.positional) notes.push_back("may be given several times");
  const Json& value = param.default_value;
  if (value.is_string()) notes.push_back("default " + value.get<std::string>());
  if (value.is_number()) notes.push_back("default " + DumpJson(value));
  if (value == Json(true)) notes.push_back("default on");
  if (param.min && param.max) notes.push_back(Number(*param.min) + " to " + Number(*param.max));
  return notes.empty() ? "" : fmt::format("({})", fmt::join(notes, "; "));
}

bool TakesProfiles(const OpInfo& op, const ParamInfo& param) {
  return param.names_run && (param.kind != ParamKind::kRun || !op.writes);
}

bool TakesTwoLists(const CommandInfo& command) {
  return std::count_if(command.params.begin(), command.params.end(),
                       [](const ParamInfo& p) { return p.positional && p.repeated; }) > 1;
}

std::string Usage(const CommandInfo& command) {
  std::string usage = "neurolens " + command.op.name;
  const auto is_flag = [](const ParamInfo& p) { return !p.positional; };
  if (std::any_of(command.params.begin(), command.params.end(), is_flag)) usage += " [options]";
  bool list_before = false;
  for (const ParamInfo& param : command.params) {
    if (!param.positional) continue;
    if (param.repeated && std::exchange(list_before, true)) usage += " --";
    std::string name = PositionalName(param);
    if (param.kind == ParamKind::kChoice) {
      const std::string choices = ValueName(param);
      name = param.required ? choices : "[" + choices + "]";
    }
    usage += " " + name;
  }
  return usage;
}

CommandGroup GroupOf(const CommandInfo& command) {
  if (command.op.starts_here) return CommandGroup::kFirst;
  if (command.op.writes && !command.op.writes_by_import) return CommandGroup::kStore;
  const auto is_run = [](const ParamInfo& p) { return p.kind == ParamKind::kRun; };
  const bool takes_run = std::any_of(command.params.begin(), command.params.end(), is_run);
  return takes_run ? CommandGroup::kRuns : CommandGroup::kProgram;
}

std::string_view GroupTitle(CommandGroup group) {
  switch (group) {
    case CommandGroup::kFirst: return "Start here";
    case CommandGroup::kRuns: return "Analyze runs";
    case CommandGroup::kStore: return "Record, measure and change the store";
    case CommandGroup::kProgram: return "Other commands";
  }
  return "";
}

}  // namespace nl
