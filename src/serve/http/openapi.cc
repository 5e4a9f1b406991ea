// SPDX-License-Identifier: Apache-2.0
#include "serve/http/openapi.h"

#include <fmt/format.h>

#include "base/record_json.h"
#include "base/version.h"
#include "serve/http/problem.h"

namespace nl::http {

namespace {

constexpr std::string_view kOld = "#/definitions/", kNew = "#/components/schemas/";

Json Reference(std::string_view name) { return Json{{"$ref", fmt::format("{}{}", kNew, name)}}; }

// Points references of a schema of its own at the shared schemas.
void Redirect(Json& schema) {
  if (schema.is_array() || schema.is_object()) {
    for (Json& part : schema) Redirect(part);
  }
  if (!schema.is_object() || !schema.contains("$ref")) return;
  const std::string ref = schema["$ref"].get<std::string>();
  if (ref.rfind(kOld, 0) == 0) schema["$ref"] = fmt::format("{}{}", kNew, ref.substr(kOld.size()));
}

class Writer {
 public:
  explicit Writer(const RemoteOps& ops) : ops_(ops) { schemas_["Problem"] = ProblemSchema(); }

  Json Document() {
    AddRuns();
    for (const RemoteOp& op : ops_.all()) AddOperation(op);
    AddOwnRoutes();
    return Json{{"openapi", "3.1.0"},
                {"info",
                 {{"title", "NeuroLens"},
                  {"version", kVersion},
                  {"summary", "Profiles of models on GPUs: what is stored, and what explains it"},
                  {"license", {{"name", "Apache-2.0"}, {"identifier", "Apache-2.0"}}}}},
                {"servers", Json::array({{{"url", "/"}}})},
                {"security", Json::array()},
                {"tags", Json::array({Tag("runs", "Stored runs, as resources"),
                                      Tag("operations", "Every operation by name"),
                                      Tag("server", "The server itself")})},
                {"paths", paths_},
                {"components", {{"schemas", schemas_}}}};
  }

 private:
  static Json Tag(const char* name, const char* about) {
    return Json{{"name", name}, {"description", about}};
  }

  // The name of the reply's schema, which is added with all it needs.
  std::string ReplySchema(const OpInfo& info) {
    const RecordInfo& record = info.reply();
    if (schemas_.contains(record.name)) return record.name;
    Json schema = JsonSchema(record);
    schema.erase("$schema");
    Json definitions = schema.contains("definitions") ? schema["definitions"] : Json::object();
    schema.erase("definitions");
    Redirect(schema);
    schemas_[record.name] = std::move(schema);
    for (auto& [name, definition] : definitions.items()) {
      if (schemas_.contains(name)) continue;
      Redirect(definition);
      schemas_[name] = definition;
    }
    return record.name;
  }

  static Json ProblemResponse(const char* about) {
    return Json{{"description", about}, {"content", {{kProblemType, {{"schema", Reference("Problem")}}}}}};
  }

  Json Responses(const RemoteOp& op, bool with_etag) {
    Json out{{"200",
              {{"description", fmt::format("What `neurolens {} --json` prints", op.info.name)},
               {"content", {{"application/json", {{"schema", Reference(ReplySchema(op.info))}}}}}}}};
    if (with_etag) out["304"] = Json{{"description", "The client has this reply already (If-None-Match)"}};
    out["4XX"] = ProblemResponse("The request is wrong, or names what does not exist");
    out["5XX"] = ProblemResponse("The server cannot answer now");
    return out;
  }

  static Json QueryParameters(const RemoteOp& op, const ParamInfo* left_out) {
    const Json schema = ParamSchema(op.params);
    Json out = Json::array();
    for (const ParamInfo& param : op.params) {
      if (&param == left_out) continue;
      Json value = schema["properties"][param.name];
      const std::string about = value["description"].get<std::string>();
      value.erase("description");
      Json entry{{"name", param.name}, {"in", "query"}, {"description", about}, {"schema", std::move(value)}};
      if (param.required) entry["required"] = true;
      out.push_back(std::move(entry));
    }
    return out;
  }

  static Json RunParameter() {
    return Json{{"name", "id"},
                {"in", "path"},
                {"required", true},
                {"description", "The run: id, id prefix, @latest, tag or model name"},
                {"schema", {{"type", "string"}}}};
  }

  static Json WithRun(Json parameters) {
    Json out = Json::array({RunParameter()});
    for (Json& parameter : parameters) out.push_back(std::move(parameter));
    return out;
  }

  Json Entry(const RemoteOp& op, std::string id, const char* tag, bool with_etag = false) {
    std::replace(id.begin(), id.end(), '-', '_');
    return Json{{"operationId", id},
                {"tags", Json::array({tag})},
                {"summary", op.info.summary},
                {"description", op.info.choose_when},
                {"responses", Responses(op, with_etag)}};
  }

  void AddOperation(const RemoteOp& op) {
    Json& path = paths_["/api/v1/" + op.info.name];
    if (op.reads_only()) {
      path["get"] = Entry(op, "get_" + op.info.name, "operations");
      path["get"]["parameters"] = QueryParameters(op, nullptr);
    }
    path["post"] = Entry(op, "post_" + op.info.name, "operations");
    Json schema = ParamSchema(op.params);
    path["post"]["requestBody"] = Json{{"required", schema.contains("required")},
                                       {"content", {{"application/json", {{"schema", std::move(schema)}}}}}};
    if (const ParamInfo* run = op.RunParam(); run != nullptr && op.reads_only()) {
      Json& resource = paths_[fmt::format("/api/v1/runs/{{id}}/{}", op.info.name)]["get"];
      resource = Entry(op, "run_" + op.info.name, "runs", true);
      resource["parameters"] = WithRun(QueryParameters(op, run->repeated ? nullptr : run));
    }
  }

  void AddRuns() {
    const RemoteOp &list = *ops_.Find("ls"), &show = *ops_.Find("show"), &remove = *ops_.Find("rm");
    Json& runs = paths_["/api/v1/runs"];
    runs["get"] = Entry(list, "list_runs", "runs");
    runs["get"]["parameters"] = QueryParameters(list, nullptr);
    runs["post"] = Entry(ops_.upload(), "upload_run", "runs");
    Json fields = QueryParameters(ops_.upload(), nullptr);
    fields.push_back({{"name", "name"},
                      {"in", "query"},
                      {"description", "File name of the profile; otherwise that of Content-Disposition"},
                      {"schema", {{"type", "string"}}}});
    runs["post"]["parameters"] = std::move(fields);
    runs["post"]["requestBody"] =
        Json{{"required", true},
             {"description", "The bytes of one profile, packed with gzip or zstd or not"},
             {"content", {{"application/octet-stream", Json::object()}}}};
    Json& run = paths_["/api/v1/runs/{id}"];
    run["get"] = Entry(show, "get_run", "runs", true);
    run["get"]["parameters"] = WithRun(QueryParameters(show, show.RunParam()));
    run["delete"] = Entry(remove, "delete_run", "runs");
    Json more = Json::array();
    for (Json& parameter : QueryParameters(remove, remove.RunParam())) more.push_back(parameter);
    run["delete"]["parameters"] = WithRun(std::move(more));
  }

  void AddOwnRoute(const char* path, const char* id, const char* about, const char* type) {
    paths_[path]["get"] = Json{{"operationId", id},
                               {"tags", Json::array({"server"})},
                               {"summary", about},
                               {"responses",
                                {{"200", {{"description", about}, {"content", {{type, Json::object()}}}}},
                                 {"4XX", ProblemResponse("The request is wrong")},
                                 {"5XX", ProblemResponse("The server cannot answer now")}}}};
  }

  void AddOwnRoutes() {
    AddOwnRoute("/api/v1/events", "events", "Server-Sent Events: new runs and the progress of uploads",
                "text/event-stream");
    AddOwnRoute("/healthz", "healthz", "The server runs", "application/json");
    AddOwnRoute("/readyz", "readyz", "The store can be read", "application/json");
    AddOwnRoute("/metrics", "metrics", "Counters for Prometheus", "text/plain");
    AddOwnRoute("/openapi.json", "openapi", "This description", "application/json");
    AddOwnRoute("/docs", "docs", "The operations as a page", "text/html");
  }

  const RemoteOps& ops_;
  Json paths_ = Json::object(), schemas_ = Json::object();
};

}  // namespace

Json OpenApiDocument(const RemoteOps& ops) { return Writer(ops).Document(); }

}  // namespace nl::http
