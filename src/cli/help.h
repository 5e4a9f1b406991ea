// SPDX-License-Identifier: Apache-2.0
#pragma once
// The texts of --help, built from the operations' descriptions.

#include <string>
#include <vector>

#include "ops/command.h"

namespace nl {

// `neurolens --help`: commands in groups, the flags every command takes.
std::string OverviewHelp(const std::vector<CommandInfo>& commands, const TextStyle& style);
// `neurolens CMD --help`.
std::string CommandHelp(const CommandInfo& command, const TextStyle& style);

}  // namespace nl
