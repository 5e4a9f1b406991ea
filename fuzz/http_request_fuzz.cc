// SPDX-License-Identifier: Apache-2.0
// The glue between a request and an operation: target, query string, headers and JSON body, down to the
// binder of the operation. Whatever comes, the result is arguments that name offered parameters only, or a
// problem document.

#include <cstdio>
#include <cstdlib>

#include "serve/http/access.h"
#include "serve/http/content.h"
#include "serve/http/guard.h"
#include "serve/http/mcp_endpoint.h"
#include "serve/http/problem.h"
#include "serve/http/router.h"

namespace {

using namespace nl::http;

[[noreturn]] void Fail(const char* what, const std::string& text) {
  std::fprintf(stderr, "%s: %s\n", what, text.c_str());
  std::abort();
}

// The next line of the input.
std::string Take(std::string_view& rest) {
  const size_t end = rest.find('\n');
  const std::string line(rest.substr(0, end));
  rest = end == std::string_view::npos ? "" : rest.substr(end + 1);
  return line;
}

void CheckProblem(const Response& response) {
  const nl::Result<nl::Json> document = nl::ParseJson(response.body);
  if (response.status < 400 || !document.ok() || (*document)["status"] != response.status)
    Fail("not a problem document", response.body);
  for (const auto& [name, value] : response.headers) {
    if (!IsHeaderValue(value)) Fail("header", value);
  }
}

void CheckRoute(const Route& route, const Request& request) {
  if (route.op == nullptr) return;
  const std::string name = UploadName(request, route.args);
  if (name.empty() || name.size() > 255 || name.find('/') != std::string::npos || name == "..")
    Fail("name", name);
  nl::Json args = route.args;
  if (route.takes_json && !AddBody(*route.op, request.body, args).ok()) return;
  for (const auto& [key, value] : args.items()) {
    if (route.op->Param(key) == nullptr &&
        !(route.endpoint == Endpoint::kUpload && (key == "name" || key == "upload")))
      Fail("parameter that is not offered", key);
  }
  const std::unique_ptr<nl::Op> op = route.op->make();
  nl::ParamBinder binder;
  op->Bind(binder);
  static_cast<void>(binder.Fill(args));
}

}  // namespace

// Nobody can log in here: whatever the headers say, a route that needs a role is refused.
void CheckAccess(Request request, const Routed& routed) {
  static nl::auth::Authority nobody("/nonexistent", {.always = true, .now_ns = {}});
  static const Exposure exposure{{"127.0.0.1", 7070}, true};
  static const Access access(nobody, exposure);
  const bool open = !RoleNeeded(routed, request);
  const auto refusal = access.Check(request, routed);
  if (!refusal && !open) Fail("let in", request.target);
  if (refusal) CheckProblem(*refusal);
  if (request.client.find_first_not_of("0123456789abcdefABCDEF:.") != std::string::npos)
    Fail("address", request.client);
}

// Lines: method, target, Host, Origin, Content-Disposition, If-None-Match, Accept-Encoding, Authorization,
// Cookie, X-Forwarded-For, Mcp-Protocol-Version, Accept; then the body.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const nl::RemoteOps ops(nl::AllOps());
  static const Exposure exposure{{"127.0.0.1", 7070}};
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  Request request;
  request.method = Take(rest);
  request.target = Take(rest);
  for (const char* name : {"host", "origin", "content-disposition", "if-none-match", "accept-encoding",
                           "authorization", "cookie", "x-forwarded-for", "mcp-protocol-version", "accept"})
    request.headers.emplace_back(name, Take(rest));
  request.body = rest;
  if (const auto refusal = CheckOrigin(request, exposure)) CheckProblem(*refusal);
  const Routed routed = RouteHead(ops, request);
  CheckAccess(request, routed);
  if (const auto refusal = McpEndpoint::CheckHead(request)) CheckProblem(*refusal);
  if (!routed.ok)
    CheckProblem(routed.problem);
  else
    CheckRoute(routed.route, request);
  Response response;
  response.body = request.body;
  Negotiate(request, true, response);
  static_cast<void>(ParseListen(request.target));
  return 0;
}
