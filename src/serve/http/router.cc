// SPDX-License-Identifier: Apache-2.0
#include "serve/http/router.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/near_names.h"
#include "base/terminal.h"
#include "ops/param_text.h"
#include "serve/http/app_page.h"
#include "serve/http/problem.h"
#include "serve/http/target.h"
#include "serve/uploads/upload_store.h"

namespace nl::http {

namespace {

constexpr std::string_view kNameField = "name", kUploadField = "upload";
constexpr char kUnknownLabel[] = "(none)";

struct FixedRoute {
  std::string_view path;
  Endpoint endpoint;
  std::string_view methods = "GET, HEAD";
};
constexpr FixedRoute kFixed[] = {
    {"/healthz", Endpoint::kHealth},
    {"/readyz", Endpoint::kReady},
    {"/metrics", Endpoint::kMetrics},
    {"/openapi.json", Endpoint::kOpenApi},
    {"/docs", Endpoint::kDocs},
    {"/docs.js", Endpoint::kDocsScript},
    {"/docs.css", Endpoint::kDocsStyle},
    {"/api/v1/events", Endpoint::kEvents},
    {"/api/v1/me", Endpoint::kMe},
    {"/api/v1/login", Endpoint::kLogin, "POST"},
    {"/api/v1/logout", Endpoint::kLogout, "POST"},
    {"/mcp", Endpoint::kMcp, "GET, POST, DELETE"},
};

Routed Problem(std::string label, Response response) {
  Routed out;
  out.route.label = std::move(label);
  out.ok = false;
  out.problem = std::move(response);
  return out;
}

Routed Problem(std::string label, const Error& error) { return Problem(std::move(label), ProblemOf(error)); }

Routed WrongMethod(std::string label, std::string_view method, std::string_view allowed) {
  Response out =
      ProblemOf(405, InvalidInput(fmt::format("{} does not take {}", label, PrintableName(method, 20)))
                         .Hint(fmt::format("use {}", allowed)));
  out.headers.emplace_back("Allow", allowed);
  return Problem(std::move(label), std::move(out));
}

// Whether "GET, HEAD" has the method GET.
bool Lists(std::string_view methods, std::string_view method) {
  while (!methods.empty()) {
    const size_t comma = methods.find(", ");
    if (methods.substr(0, comma) == method) return true;
    methods = comma == std::string_view::npos ? "" : methods.substr(comma + 2);
  }
  return false;
}

bool IsGet(const Request& request) { return request.method == "GET" || request.method == "HEAD"; }

Routed Operation(const RemoteOp& op, std::string label, const Request& request, const Fields& query,
                 const std::string* run) {
  Routed out;
  out.route.label = label;
  out.route.op = &op;
  out.route.has_etag = run != nullptr && IsGet(request);
  if (IsGet(request) && !op.reads_only()) return WrongMethod(std::move(label), request.method, "POST");
  if (!IsGet(request) && request.method != "POST")
    return WrongMethod(std::move(label), request.method, op.reads_only() ? "GET, HEAD, POST" : "POST");
  if (run != nullptr) {
    const ParamInfo* param = op.RunParam();
    out.route.args[param->name] = param->repeated ? Json::array({*run}) : Json(*run);
  }
  for (const auto& [name, value] : query) {
    if (Status added = AddField(op, name, value, out.route.args); !added.ok())
      return Problem(std::move(label), added.error());
  }
  out.route.takes_json = request.method == "POST";
  return out;
}

Routed UnknownOperation(const RemoteOps& ops, const std::string& name) {
  std::vector<std::string> names;
  for (const RemoteOp& op : ops.all()) names.push_back(op.info.name);
  const std::string guess = name == ops.upload().info.name
                                ? "upload profiles: POST /api/v1/runs; `neurolens serve --allow-root DIR` "
                                  "lets clients name files of a folder"
                                : DidYouMean(Nearest(name, names));
  return Problem(kUnknownLabel, NotFound(fmt::format("unknown operation '{}'", PrintableName(name, 80)))
                                    .Hint(guess.empty() ? "/openapi.json lists the operations" : guess));
}

Routed Upload(const RemoteOps& ops, std::string label, const Fields& query) {
  Routed out;
  out.route.endpoint = Endpoint::kUpload;
  out.route.label = label;
  out.route.op = &ops.upload();
  for (const auto& [name, value] : query) {
    if (name == kNameField) {
      out.route.args[name] = value;
    } else if (name == kUploadField) {
      out.route.args[name].push_back(value);
    } else if (Status added = AddField(ops.upload(), name, value, out.route.args); !added.ok()) {
      return Problem(std::move(label), added.error());
    }
  }
  return out;
}

Routed Runs(const RemoteOps& ops, const Request& request, const Target& target) {
  const auto& segments = target.segments;  // api, v1, runs, [ID, [OP]]
  if (segments.size() == 3) {
    const std::string label = "/api/v1/runs";
    if (request.method == "POST") return Upload(ops, label, target.query);
    if (!IsGet(request)) return WrongMethod(label, request.method, "GET, HEAD, POST");
    return Operation(ops.WithRole(ServerRole::kRunList), label, request, target.query, nullptr);
  }
  const std::string& run = segments[3];
  if (segments.size() == 4) {
    const std::string label = "/api/v1/runs/{id}";
    if (request.method == "DELETE") {
      Request as_post = request;
      as_post.method = "POST";
      Routed out = Operation(ops.WithRole(ServerRole::kRunRemove), label, as_post, target.query, &run);
      out.route.takes_json = false;
      return out;
    }
    if (!IsGet(request)) return WrongMethod(label, request.method, "GET, HEAD, DELETE");
    return Operation(ops.WithRole(ServerRole::kRun), label, request, target.query, &run);
  }
  const RemoteOp* op = ops.Find(segments[4]);
  if (op == nullptr) return UnknownOperation(ops, segments[4]);
  if (op->RunParam() == nullptr) {
    return Problem(kUnknownLabel,
                   NotFound(fmt::format("the operation '{}' is not about a run", op->info.name))
                       .Hint(fmt::format("use /api/v1/{}", op->info.name)));
  }
  return Operation(*op, "/api/v1/runs/{id}/" + op->info.name, request, target.query, &run);
}

Routed Jobs(const Request& request, const Target& target) {
  const auto& segments = target.segments;  // api, v1, jobs, [ID, [result | cancel]]
  Routed out;
  out.route.endpoint = Endpoint::kJobs;
  out.route.rest.assign(segments.begin() + 3, segments.end());
  out.route.query = target.query;
  const auto& rest = out.route.rest;
  const bool is_list = rest.empty(), is_cancel = rest.size() == 2 && rest[1] == "cancel";
  if (rest.size() > 2 || (rest.size() == 2 && !is_cancel && rest[1] != "result"))
    return Problem(kUnknownLabel,
                   NotFound("a job has a result, and nothing else").Hint("use /api/v1/jobs/ID/result"));
  out.route.label = is_list           ? "/api/v1/jobs"
                    : rest.size() < 2 ? "/api/v1/jobs/{id}"
                                      : "/api/v1/jobs/{id}/" + rest[1];
  const char* const allowed = is_list            ? "GET, HEAD, POST"
                              : is_cancel        ? "POST"
                              : rest.size() == 1 ? "GET, HEAD, DELETE"
                                                 : "GET, HEAD";
  const bool right = (IsGet(request) && !is_cancel) || (request.method == "POST" && (is_list || is_cancel)) ||
                     (request.method == "DELETE" && rest.size() == 1);
  if (!right) return WrongMethod(out.route.label, request.method, allowed);
  if (!out.route.query.empty() && !(is_list && IsGet(request)))
    return Problem(out.route.label,
                   InvalidInput(fmt::format("unknown parameter '{}'", out.route.query[0].first)));
  out.route.takes_json = is_list && request.method == "POST";
  return out;
}

Routed Uploads(const Request& request, const Target& target) {
  Routed out;
  out.route.endpoint = Endpoint::kUploads;
  out.route.rest.assign(target.segments.begin() + 3, target.segments.end());
  out.route.query = target.query;
  const bool is_new = out.route.rest.empty();
  if (out.route.rest.size() > 1)
    return Problem(kUnknownLabel, NotFound("an upload has no parts").Hint("use /api/v1/uploads/ID"));
  out.route.label = is_new ? "/api/v1/uploads" : "/api/v1/uploads/{id}";
  const bool right = is_new ? request.method == "POST"
                            : IsGet(request) || request.method == "PATCH" || request.method == "DELETE";
  if (!right)
    return WrongMethod(out.route.label, request.method, is_new ? "POST" : "GET, HEAD, PATCH, DELETE");
  return out;
}

Routed Recordings(const Request& request, const Target& target) {
  Routed out;
  out.route.endpoint = Endpoint::kRecordings;
  out.route.rest.assign(target.segments.begin() + 3, target.segments.end());
  const bool is_new = out.route.rest.empty();
  if (out.route.rest.size() > 1)
    return Problem(kUnknownLabel, NotFound("a recording has no parts").Hint("use /api/v1/recordings/ID"));
  out.route.label = is_new ? "/api/v1/recordings" : "/api/v1/recordings/{id}";
  const bool right =
      is_new ? request.method == "POST" : request.method == "PUT" || request.method == "DELETE";
  if (!right) return WrongMethod(out.route.label, request.method, is_new ? "POST" : "PUT, DELETE");
  if (!target.query.empty())
    return Problem(out.route.label,
                   InvalidInput(fmt::format("unknown parameter '{}'", target.query[0].first)));
  out.route.takes_json = request.method != "DELETE";
  return out;
}

// The web application: what is not a fixed path of its own.
std::optional<Routed> AppRoute(std::string_view path, const Request& request) {
  const bool is_asset = path.rfind("/assets/", 0) == 0;
  if (!is_asset && !IsAppPath(path)) return std::nullopt;
  const std::string label = is_asset ? "/assets/{name}" : "/{view}";
  if (!IsGet(request)) return WrongMethod(label, request.method, "GET, HEAD");
  Routed out;
  out.route.endpoint = is_asset ? Endpoint::kAppAsset : Endpoint::kApp;
  out.route.label = label;
  return out;
}

}  // namespace

Routed RouteHead(const RemoteOps& ops, const Request& request) {
  const std::string_view path = std::string_view(request.target).substr(0, request.target.find('?'));
  for (const FixedRoute& fixed : kFixed) {
    if (path != fixed.path) continue;
    if (!Lists(fixed.methods, request.method))
      return WrongMethod(std::string(path), request.method, fixed.methods);
    Routed out;
    out.route.takes_json = request.method == "POST";
    out.route.endpoint = fixed.endpoint;
    out.route.label = path;
    return out;
  }
  if (std::optional<Routed> app = AppRoute(path, request)) return *std::move(app);
  const Result<Target> target = ParseTarget(request.target);
  if (!target.ok()) return Problem(kUnknownLabel, target.error());
  const auto& segments = target->segments;
  const size_t count = segments.size();
  if (count >= 3 && segments[0] == "api" && segments[1] == "v1") {
    if (segments[2] == "runs" && count <= 5) return Runs(ops, request, *target);
    if (segments[2] == "uploads") return Uploads(request, *target);
    if (segments[2] == "jobs") return Jobs(request, *target);
    if (segments[2] == "recordings") return Recordings(request, *target);
    const RemoteOp* op = count == 3 ? ops.Find(segments[2]) : nullptr;
    if (op != nullptr) return Operation(*op, "/api/v1/" + op->info.name, request, target->query, nullptr);
    if (count == 3) return UnknownOperation(ops, segments[2]);
  }
  return Problem(kUnknownLabel, NotFound(fmt::format("there is nothing at {}", PrintableName(path, 80)))
                                    .Hint("/docs lists what is offered"));
}

Status AddField(const RemoteOp& op, const std::string& name, const std::string& text, Json& args) {
  const ParamInfo* param = op.Param(name);
  if (param == nullptr) {
    std::vector<std::string> known;
    for (const ParamInfo& p : op.params) known.push_back(p.name);
    return InvalidInput(fmt::format("unknown parameter '{}'", name)).Hint(DidYouMean(Nearest(name, known)));
  }
  NL_ASSIGN(Json value, ValueFromText(*param, fmt::format("parameter '{}'", name), text));
  if (param->repeated) {
    args[name].push_back(std::move(value));
    return {};
  }
  if (args.contains(name)) return InvalidInput(fmt::format("parameter '{}' is given twice", name));
  args[name] = std::move(value);
  return {};
}

Status AddBody(const RemoteOp& op, std::string_view body, Json& args) {
  if (body.empty()) return {};
  NL_ASSIGN(const Json given, ParseJson(body));
  if (!given.is_object()) return InvalidInput("the body must be a JSON object with the parameters");
  for (const auto& [name, value] : given.items()) {
    const std::string& key = name;
    const ParamInfo* param = op.Param(key);
    if (param == nullptr) return InvalidInput(fmt::format("unknown parameter '{}'", key));
    if (!args.contains(key)) {
      args[key] = value;
    } else if (param->repeated && value.is_array()) {
      for (const Json& item : value) args[key].push_back(item);
    } else {
      return InvalidInput(fmt::format("parameter '{}' is given twice", key));
    }
  }
  return {};
}

std::string UploadName(const Request& request, const Json& args) {
  std::string name;
  if (args.contains(kNameField)) name = args[std::string(kNameField)].get<std::string>();
  const std::string_view disposition = request.Header("content-disposition");
  if (const size_t at = disposition.find("filename="); name.empty() && at != std::string_view::npos) {
    std::string_view value = disposition.substr(at + 9);
    const bool quoted = !value.empty() && value.front() == '"';
    if (quoted) value.remove_prefix(1);
    name = value.substr(0, value.find(quoted ? '"' : ';'));
  }
  return uploads::CleanName(name);
}

}  // namespace nl::http
