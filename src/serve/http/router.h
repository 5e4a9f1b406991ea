// SPDX-License-Identifier: Apache-2.0
#pragma once
// The router: which endpoint or operation a request asks for, with which arguments. No sockets here.
//
//   /, /runs/..., /sql ...  the web application (serve/http/app_page.h); /assets/... what it loads
//   /api/v1/OP              an operation: GET with a query string when it only reads, POST with a JSON object
//   /api/v1/runs            ls; POST uploads a profile
//   /api/v1/runs/ID         show; DELETE is rm
//   /api/v1/runs/ID/OP      an operation about this run
//   /api/v1/login, logout, me   sessions of users
//   /mcp                    the Model Context Protocol
//   /api/v1/uploads, ...    profiles that come in pieces (upload_desk.h)
//   /api/v1/recordings, ... recordings of other machines under way (recording_desk.h)
//   /api/v1/jobs, ...       operations that run by themselves (job_desk.h)
//
// Thread rule: pure functions over the constant RemoteOps.

#include <string>

#include "serve/http/message.h"
#include "serve/remote_ops.h"

namespace nl::http {

enum class Endpoint {
  kOperation,
  kUpload,
  kUploads,
  kJobs,
  kRecordings,
  kEvents,
  kHealth,
  kReady,
  kMetrics,
  kOpenApi,
  kDocs,
  kDocsScript,
  kDocsStyle,
  kLogin,
  kLogout,
  kMe,
  kMcp,
  kApp,
  kAppAsset
};

struct Route {
  Endpoint endpoint = Endpoint::kOperation;
  std::string label;  // the route without its variables, for metrics
  const RemoteOp* op = nullptr;
  Json args = Json::object();     // of the path and the query string
  std::vector<std::string> rest;  // segments of the path after those of the resource
  Fields query;                   // as given, where `args` does not have them
  bool takes_json = false;        // a JSON object with further arguments is the body
  bool has_etag = false;          // the reply is about one stored run
};

struct Routed {
  Route route;
  bool ok = true;
  Response problem;  // when not ok
};

// From the method, the target and the headers, before the body is read.
Routed RouteHead(const RemoteOps& ops, const Request& request);

// Adds the arguments of the body to those of the route.
Status AddBody(const RemoteOp& op, std::string_view body, Json& args);

// Adds one field of a query string or form, or names what is wrong with it.
Status AddField(const RemoteOp& op, const std::string& name, const std::string& text, Json& args);

// Name of an uploaded profile, without folders: ?name=, or the file name of Content-Disposition.
std::string UploadName(const Request& request, const Json& args);

}  // namespace nl::http
