// SPDX-License-Identifier: Apache-2.0
#pragma once
// The prompts that the MCP server offers: ways to use its tools together.
// Thread rule: pure functions.

#include <string>

#include "base/json.h"
#include "serve/mcp/json_rpc.h"

namespace nl::mcp {

Json PromptList();  // of prompts/list
// Of prompts/get; an unknown prompt or a missing argument is an error.
RpcAnswer PromptMessages(const std::string& name, const Json& arguments);

}  // namespace nl::mcp
