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

RpcAnswer ResourceList(const std::string& cursor, OpContext& context);
Json ResourceTemplates();
RpcAnswer ReadResource(const std::string& uri, OpContext& context);
// Runs whose id starts with `prefix`, of completion/complete.
RpcAnswer CompleteRun(const std::string& prefix, OpContext& context);

}  // namespace nl::mcp
