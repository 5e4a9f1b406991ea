// SPDX-License-Identifier: Apache-2.0
#include "serve/mcp/json_rpc.h"

#include <fmt/format.h>

namespace nl::mcp {

namespace {

RpcMessage Refused(RpcCode code, std::string message, Json id = nullptr) {
  RpcMessage out;
  out.error = RpcError{code, std::move(message)};
  out.id = std::move(id);
  return out;
}

bool IsId(const Json& id) { return id.is_string() || id.is_number_integer(); }

RpcMessage MessageOf(Json& json) {
  using enum RpcCode;
  if (!json.is_object()) return Refused(kInvalidRequest, "a message must be an object");
  Json id;
  const bool has_id = json.contains("id");
  if (has_id && IsId(json["id"])) id = json["id"];
  if (!json.contains("jsonrpc") || json["jsonrpc"] != "2.0")
    return Refused(kInvalidRequest, "'jsonrpc' must be \"2.0\"", id);
  if (!json.contains("method")) {
    if (json.contains("result") || json.contains("error")) return {};
    return Refused(kInvalidRequest, "'method' is missing", id);
  }
  if (!json["method"].is_string()) return Refused(kInvalidRequest, "'method' must be a string", id);
  if (has_id && id.is_null()) return Refused(kInvalidRequest, "'id' must be a string or an integer");
  RpcMessage out;
  RpcCall call;
  if (has_id) call.id = id;
  call.method = json["method"].get<std::string>();
  if (const auto params = json.find("params"); params != json.end() && !params->is_null()) {
    if (!params->is_object()) {
      // A notification is never answered, not even when it is wrong.
      return has_id ? Refused(kInvalidParams, "'params' must be an object", id) : RpcMessage();
    }
    call.params = std::move(*params);
  }
  out.call = std::move(call);
  return out;
}

}  // namespace

RpcInput ParseRpc(std::string_view text) {
  RpcInput out;
  Result<Json> json = ParseJson(text);
  if (!json.ok()) {
    out.messages.push_back(
        Refused(RpcCode::kParseError, fmt::format("the message is not JSON: {}", json.error().message)));
    return out;
  }
  if (!json->is_array()) {
    out.messages.push_back(MessageOf(*json));
    return out;
  }
  if (json->empty()) {
    out.messages.push_back(Refused(RpcCode::kInvalidRequest, "a batch must have at least one message"));
    return out;
  }
  out.batch = true;
  for (Json& one : *json) out.messages.push_back(MessageOf(one));
  return out;
}

Json RpcResult(const Json& id, Json result) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}};
}

Json RpcFailure(const Json& id, const RpcError& error) {
  return {{"jsonrpc", "2.0"},
          {"id", id},
          {"error", {{"code", static_cast<int>(error.code)}, {"message", error.message}}}};
}

Json RpcNotification(std::string_view method, Json params) {
  return {{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}};
}

}  // namespace nl::mcp
