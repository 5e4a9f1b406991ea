// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs as MCP resources: neurolens://runs/{id} is the run document without its timeline,
// neurolens://runs/{id}/report the report in Markdown.
// Thread rule: any thread, as for operations.

#include <string>

#include "base/json.h"
#include "ops/op.h"
#include "serve/mcp/json_rpc.h"

namespace nl::mcp {

// The operations that give runs; null: there are none.
struct RunOps {
  const OpEntry *list = nullptr, *show = nullptr;
  static RunOps In(const std::vector<OpEntry>& ops);
};

RpcAnswer ResourceList(const RunOps& ops, const std::string& cursor, OpContext& context);
Json ResourceTemplates();
RpcAnswer ReadResource(const RunOps& ops, const std::string& uri, OpContext& context);
// Runs whose id starts with `prefix`, of completion/complete.
RpcAnswer CompleteRun(const RunOps& ops, const std::string& prefix, OpContext& context);

}  // namespace nl::mcp
