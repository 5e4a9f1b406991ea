// SPDX-License-Identifier: Apache-2.0
#pragma once
// An operation as the command line spells it: flag names, value names, usage.
// Shared by the CLI (parsing, --help) and by the operations that write completion
// scripts and the command reference, so that all of them agree.
// Thread rule: plain values.

#include <string>
#include <string_view>
#include <vector>

#include "ops/op.h"

namespace nl {

struct CommandInfo {
  OpInfo op;
  std::vector<ParamInfo> params;
};

CommandInfo DescribeCommand(Op& op);
// Every operation that is not hidden, in the order given.
std::vector<CommandInfo> DescribeCommands(const std::vector<OpEntry>& ops);

// A flag every command takes, before or after the command's name.
struct GlobalFlag {
  std::string name;        // "--store"
  std::string short_name;  // "-q" or empty
  std::string value_name;  // "DIR"; empty: takes no value
  std::string help;
  std::vector<std::string> choices;
  std::string setting;  // the setting it overrides, or empty
};
const std::vector<GlobalFlag>& GlobalFlags();

// "query_rows" -> "--query-rows".
std::string FlagName(std::string_view param);
// What help shows for a value: "N", "RUN", "KEY=VALUE", "table|csv".
std::string ValueName(const ParamInfo& param);
// "RUN", "[RUN]", "RUN..." for a positional parameter.
std::string PositionalName(const ParamInfo& param);
// A flag with its value as help shows it: "--limit N", "--[no-]color".
std::string FlagUsage(const ParamInfo& param);
// The parameter's help as a full sentence.
std::string ParamHelp(const ParamInfo& param);
// "(default 20, 1 to 1000)" or "".
std::string ParamNotes(const ParamInfo& param);
// Whether the command line takes a profile where this parameter takes a run: it is imported first. Operations
// that change the store take runs alone, but for those that import themselves (ParamBinder::RunOrFile).
bool TakesProfiles(const OpInfo& op, const ParamInfo& param);
// Two repeated positional parameters, "A... -- B...".
bool TakesTwoLists(const CommandInfo& command);
// "neurolens query [options] RUN... SQL".
std::string Usage(const CommandInfo& command);

// Which heading a command stands under in the overview; derived from what it does.
enum class CommandGroup { kFirst, kRuns, kStore, kProgram };
constexpr CommandGroup kCommandGroups[] = {CommandGroup::kFirst, CommandGroup::kRuns, CommandGroup::kStore,
                                           CommandGroup::kProgram};
CommandGroup GroupOf(const CommandInfo& command);
std::string_view GroupTitle(CommandGroup group);

}  // namespace nl
