// SPDX-License-Identifier: Apache-2.0
#pragma once
// The command reference as Markdown, generated from the operations' descriptions;
// docs/cli.md is this text, and scripts/check compares the two.

#include <string>
#include <vector>

#include "ops/command.h"

namespace nl::ops::docs {

std::string CommandReference(const std::vector<CommandInfo>& commands);

}  // namespace nl::ops::docs
