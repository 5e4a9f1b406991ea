// SPDX-License-Identifier: Apache-2.0
#pragma once
// JSON-RPC 2.0 messages as MCP uses them: ids are texts or integers, parameters are objects.
// Thread rule: pure functions and plain values.

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json.h"

namespace nl::mcp {

enum class RpcCode : int {
  kParseError = -32700,
  kInvalidRequest = -32600,
  kMethodNotFound = -32601,
  kInvalidParams = -32602,
  kInternalError = -32603,
  kResourceNotFound = -32002,
  kServerBusy = -32000,
};

struct RpcError {
  RpcCode code = RpcCode::kInternalError;
  std::string message;
};

// A result, or why there is none.
using RpcAnswer = std::variant<Json, RpcError>;

// A request or a notification.
struct RpcCall {
  std::optional<Json> id;  // none: a notification, which is never answered
  std::string method;
  Json params = Json::object();
};

// One message of a text; a batch has several.
struct RpcMessage {
  std::optional<RpcCall> call;    // none: a response to us, or refused
  std::optional<RpcError> error;  // why it is refused
  Json id;                        // to answer a refused one with; null when it is not known
};
struct RpcInput {
  bool batch = false;
  std::vector<RpcMessage> messages;
};

RpcInput ParseRpc(std::string_view text);

Json RpcResult(const Json& id, Json result);
Json RpcFailure(const Json& id, const RpcError& error);
Json RpcNotification(std::string_view method, Json params);

}  // namespace nl::mcp
