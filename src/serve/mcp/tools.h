// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operations as MCP tools: their descriptions, and the answer of one call. A tool has the parameters of its
// operation and two more, max_tokens and cursor, which limit and page the answer (page.h).
// Thread rule: pure functions; CallTool may run on any thread, as the operation does.

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "ops/op.h"

namespace nl::mcp {

inline constexpr size_t kBytesPerToken = 4;
inline constexpr int64_t kDefaultMaxTokens = 2000;
inline constexpr int64_t kLeastMaxTokens = 200, kMostMaxTokens = 10'000'000;
// Of the tools that a client may use and that have a place (AgentTool), so many are listed by default.
inline constexpr size_t kDefaultTools = 12;

// Which operations and parameters a client may use.
struct Access {
  bool all_tools = false;     // every operation, not only the default toolset
  bool local_caller = false;  // the client runs on this machine as this user: it may name files
  bool writes = true;         // it may change the store
  bool server_files = false;  // not a local caller: it may name files below the allowed roots to import
  bool programs = true;       // a local caller may run programs
};

struct Tool {
  std::string name;  // as clients call it
  const OpEntry* entry = nullptr;
  OpInfo info;
  std::vector<ParamInfo> params;  // those that are offered
  // Shown to clients. Other reading operations can be called too, as answers may suggest them.
  bool listed = true;
  bool as_task = false;    // a call of it can be a task (tasks.h)
  bool reads_only = true;  // for this client
  bool takes_uploads =
      false;  // it reads finished uploads, which its parameter `upload` names, instead of files
};

// For a caller that cannot name files, as remote ones.
bool ChangesStore(const OpInfo& info);

// Whole lines of a text, the first `bytes` of it.
std::string FirstLines(std::string text, size_t bytes);

// Those of the default toolset first, the others by name.
std::vector<Tool> ToolsOf(const std::vector<OpEntry>& ops, const Access& access);
// By the name of the tool or of its operation; null when there is none.
const Tool* FindTool(const std::vector<Tool>& tools, std::string_view name);

// An entry of tools/list.
Json ToolJson(const Tool& tool);

// The arguments of the operation in those of a call; InvalidInput for what the tool does not take.
Result<Json> OperationArguments(const Tool& tool, const Json& arguments);
// A CallToolResult from the reply that a job kept, as JSON and as text: what CallTool would have given.
Json StoredResult(const Tool& tool, const Json& arguments, const std::string& reply, const std::string& text);
// A CallToolResult with isError.
Json ErrorResult(const Error& error);

// A CallToolResult. What fails in the operation is a result with isError.
Json CallTool(const Tool& tool, const Json& arguments, OpContext& context);

}  // namespace nl::mcp
