// SPDX-License-Identifier: Apache-2.0
#pragma once
// A tool that runs programs, called in a process of its own (`neurolens call-tool`, hidden): recording
// changes signal masks and waits for every child of its process, and what the programs print must not reach
// the protocol. One at a time, because programs that are measured disturb each other. Thread rule: any
// thread; a call waits for the one before it.

#include "serve/mcp/tools.h"

namespace nl::mcp {

// What CallTool gives, and the last lines that the programs printed.
Json CallProgramTool(const Tool& tool, const Json& arguments, OpContext& context);

}  // namespace nl::mcp
