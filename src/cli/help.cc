// SPDX-License-Identifier: Apache-2.0
#include "cli/help.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/terminal.h"

namespace nl {

namespace {

// Longer lines are hard to read, however wide the terminal.
constexpr int kMaxWidth = 100;
constexpr int kMaxTermWidth = 30;

using Definition = std::pair<std::string, std::string>;  // term, explanation

std::string Heading(std::string_view title, const TextStyle& style) {
  return style.color ? fmt::format("\x1b[1m{}\x1b[0m\n", title) : fmt::format("{}\n", title);
}

std::string DefinitionList(const std::vector<Definition>& definitions, const TextStyle& style) {
  int term_width = 0;
  for (const Definition& d : definitions) {
    const int width = DisplayWidth(d.first);
    if (width <= kMaxTermWidth) term_width = std::max(term_width, width);
  }
  const int indent = 2 + term_width + 2;
  std::string out;
  for (const auto& [term, explanation] : definitions) {
    const int width = DisplayWidth(term);
    out += "  " + term;
    if (width > term_width) {
      out += '\n';
      out.append(static_cast<size_t>(indent), ' ');
    } else {
      out.append(static_cast<size_t>(term_width - width + 2), ' ');
    }
    out += Wrap(explanation, std::min(style.width, kMaxWidth), indent) + "\n";
  }
  return out;
}

std::vector<Definition> GlobalDefinitions() {
  std::vector<Definition> list;
  for (const GlobalFlag& flag : GlobalFlags()) {
    std::string term = flag.short_name.empty() ? "    " : flag.short_name + ", ";
    term += flag.name;
    if (!flag.value_name.empty()) term += " " + flag.value_name;
    list.emplace_back(std::move(term), flag.help);
  }
  return list;
}

Definition ParamDefinition(const OpInfo& op, const ParamInfo& param) {
  std::string help = ParamHelp(param);
  if (param.kind == ParamKind::kRun && TakesProfiles(op, param)) help += " A profile is imported first.";
  if (param.positional && param.kind == ParamKind::kChoice) help += " One of " + ValueName(param) + ".";
  const std::string notes = ParamNotes(param);
  if (!notes.empty()) help += " " + notes;
  return {param.positional ? PositionalName(param) : FlagUsage(param), help};
}

std::string_view CostText(Cost cost) {
  switch (cost) {
    case Cost::kInstant: return "Answers at once.";
    case Cost::kSeconds: return "Takes seconds on a large run.";
    case Cost::kMinutes: return "Can take minutes.";
  }
  return "";
}

}  // namespace

std::string OverviewHelp(const std::vector<CommandInfo>& commands, const TextStyle& style) {
  std::string out = "NeuroLens records, explains and compares how models run on GPUs.\n\n";
  out += Heading("Usage", style) + "  neurolens COMMAND [arguments] [flags]\n";
  for (const CommandGroup group : kCommandGroups) {
    std::vector<Definition> list;
    for (const CommandInfo& command : commands) {
      if (GroupOf(command) == group) list.emplace_back(command.op.name, command.op.summary);
    }
    if (!list.empty()) out += "\n" + Heading(GroupTitle(group), style) + DefinitionList(list, style);
  }
  out += "\n" + Heading("Flags of every command", style) + DefinitionList(GlobalDefinitions(), style);
  out += "\n" + Heading("More", style);
  out += DefinitionList({{"neurolens COMMAND --help", "what a command does, its parameters and an example"},
                         {"neurolens config show", "every setting and where its value came from"}},
                        style);
  out +=
      "\nA run is named by its id, a unique prefix of it, @latest, @latest~2, or a tag.\n@live is a "
      "recording under way. Commands that only read also take a profile: a file or a\nfolder of ranks, "
      "which they import first.\n";
  out += "Exit status: 0 ok, 1 the answer is \"no\", 2 bad usage or input, 3 I/O, 4 internal error.\n";
  return out;
}

std::string CommandHelp(const CommandInfo& command, const TextStyle& style) {
  const int width = std::min(style.width, kMaxWidth);
  std::string out =
      Wrap(fmt::format("neurolens {}: {}", command.op.name, command.op.summary), width, 0) + "\n";
  if (!command.op.choose_when.empty()) out += Wrap(command.op.choose_when, width, 0) + "\n";
  out +=
      Wrap(fmt::format("{}{}{}", CostText(command.op.cost), command.op.runs_programs ? " Runs programs." : "",
                       command.op.writes ? " Changes the store." : ""),
           width, 0);
  out += "\n\n" + Heading("Usage", style) + "  " + Usage(command) + "\n";

  std::vector<Definition> arguments, options;
  for (const ParamInfo& param : command.params) {
    (param.positional ? arguments : options).push_back(ParamDefinition(command.op, param));
  }
  if (!arguments.empty()) out += "\n" + Heading("Arguments", style) + DefinitionList(arguments, style);
  if (!options.empty()) out += "\n" + Heading("Options", style) + DefinitionList(options, style);
  out += "\n" + Heading("Example", style) + "  " + command.op.example + "\n";
  if (!command.op.exit_status.empty())
    out += "\n" + Wrap("Exit status: " + command.op.exit_status, width, 0) + "\n";
  out += "\n" +
         Wrap(
             "Every command also takes --json, --quiet, --store DIR and the other flags that "
             "'neurolens --help' lists.",
             width, 0) +
         "\n";
  return out;
}

}  // namespace nl
