// SPDX-License-Identifier: Apache-2.0
#include "serve/http/openapi.h"

#include <fmt/format.h>

#include "base/record_json.h"
#include "base/version.h"
#include "serve/http/access.h"
#include "serve/http/problem.h"
#include "serve/http/recording_desk.h"
#include "serve/http/upload_desk.h"
#include "serve/jobs/job.h"

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
    AddJobs();
    AddUploads();
    AddRecordings();
    AddOwnRoutes();
    return Json{
        {"openapi", "3.1.0"},
        {"info",
         {{"title", "NeuroLens"},
          {"version", kVersion},
          {"summary", "Profiles of models on GPUs: what is stored, and what explains it"},
          {"license", {{"name", "Apache-2.0"}, {"identifier", "Apache-2.0"}}}}},
        {"servers", Json::array({{{"url", "/"}}})},
        // Nothing, a token or the cookie of a session: the server decides by its accounts.
        {"security", Json::array({Json::object(), {{"token", Json::array()}}, {{"session", Json::array()}}})},
        {"tags",
         Json::array({Tag("runs", "Stored runs, as resources"), Tag("operations", "Every operation by name"),
                      Tag("jobs", "Operations that run in the background"),
                      Tag("server", "The server itself")})},
        {"paths", paths_},
        {"components", {{"schemas", schemas_}, {"securitySchemes", SecuritySchemes()}}}};
  }

 private:
  static Json Tag(const char* name, const char* about) {
    return Json{{"name", name}, {"description", about}};
  }

  static Json SecuritySchemes() {
    return Json{
        {"token",
         {{"type", "http"},
          {"scheme", "bearer"},
          {"description", "An API token, made with `neurolens auth token-add`"}}},
        {"session",
         {{"type", "apiKey"},
          {"in", "cookie"},
          {"name", kSessionCookie},
          {"description", "Set by POST /api/v1/login; other methods than GET need an Origin header"}}}};
  }

  // The name of the reply's schema, which is added with all it needs.
  std::string SchemaOf(const RecordInfo& record) {
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
               {"content", {{"application/json", {{"schema", Reference(SchemaOf(op.info.reply()))}}}}}}}};
    if (!op.info.binary_type.empty()) {
      out["200"]["content"][op.info.binary_type] =
          Json{{"schema", {{"type", "string"}, {"format", "binary"}}}};
    }
    for (const std::string& type : op.info.file_types)
      out["200"]["content"][type] = Json{{"schema", {{"type", "string"}, {"format", "binary"}}}};
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
    const RemoteOp &list = ops_.WithRole(ServerRole::kRunList), &show = ops_.WithRole(ServerRole::kRun),
                   &remove = ops_.WithRole(ServerRole::kRunRemove);
    Json& runs = paths_["/api/v1/runs"];
    runs["get"] = Entry(list, "list_runs", "runs");
    runs["get"]["parameters"] = QueryParameters(list, nullptr);
    runs["post"] = Entry(ops_.upload(), "upload_run", "runs");
    Json fields = QueryParameters(ops_.upload(), nullptr);
    fields.push_back({{"name", "name"},
                      {"in", "query"},
                      {"description", "File name of the profile; otherwise that of Content-Disposition"},
                      {"schema", {{"type", "string"}}}});
    fields.push_back({{"name", "upload"},
                      {"in", "query"},
                      {"description", "Finished uploads to import instead of the body"},
                      {"schema", {{"type", "array"}, {"items", {{"type", "string"}}}}}});
    runs["post"]["parameters"] = std::move(fields);
    runs["post"]["requestBody"] = Json{
        {"required", false},
        {"description",
         "The bytes of one profile, packed with gzip or zstd or not; or a form with several files"},
        {"content", {{"application/octet-stream", Json::object()}, {"multipart/form-data", Json::object()}}}};
    Json& run = paths_["/api/v1/runs/{id}"];
    run["get"] = Entry(show, "get_run", "runs", true);
    run["get"]["parameters"] = WithRun(QueryParameters(show, show.RunParam()));
    run["delete"] = Entry(remove, "delete_run", "runs");
    Json more = Json::array();
    for (Json& parameter : QueryParameters(remove, remove.RunParam())) more.push_back(parameter);
    run["delete"]["parameters"] = WithRun(std::move(more));
  }

  // An entry of the routes about jobs: `record` describes the answer with this status.
  Json JobEntry(const char* id, const char* about, const char* status, const RecordInfo& record) {
    return Json{{"operationId", id},
                {"tags", Json::array({"jobs"})},
                {"summary", about},
                {"responses",
                 {{status,
                   {{"description", about},
                    {"content", {{"application/json", {{"schema", Reference(SchemaOf(record))}}}}}}},
                  {"4XX", ProblemResponse("The request is wrong, or names what does not exist")},
                  {"5XX", ProblemResponse("The server cannot answer now")}}}};
  }

  static Json Parameter(const char* name, const char* in, const char* about, Json schema) {
    return Json{{"name", name},
                {"in", in},
                {"required", in == std::string_view("path")},
                {"description", about},
                {"schema", std::move(schema)}};
  }

  void AddJobs() {
    const RecordInfo &one = RecordOf<jobs::Job>(), &list = RecordOf<jobs::JobsReply>();
    const Json text{{"type", "string"}},
        count{{"type", "integer"}, {"minimum", 0}, {"maximum", 1'000'000'000}};
    const Json id = Parameter("id", "path", "The job: its id, or a unique beginning of it", text);
    Json& all = paths_["/api/v1/jobs"];
    all["get"] = JobEntry("list_jobs", "Jobs, newest first", "200", list);
    Json states = Json::array();
    for (const std::string_view name : jobs::NamesOf(jobs::JobState{})) states.push_back(name);
    all["get"]["parameters"] = Json::array(
        {Parameter("state", "query", "Only jobs in this state", {{"type", "string"}, {"enum", states}}),
         Parameter("limit", "query", "At most this many jobs; 0 for all", count),
         Parameter("offset", "query", "Jobs to leave out, newest first", count)});
    all["post"] = JobEntry("start_job", "Starts a job; Location is its address", "202", one);
    const Json params{{"type", "object"},
                      {"description", "Parameters of the operation, as its own route takes them"}};
    const Json body{
        {"type", "object"},
        {"properties", {{"op", {{"type", "string"}, {"description", "Operation"}}}, {"params", params}}},
        {"required", Json::array({"op"})},
        {"additionalProperties", false}};
    all["post"]["requestBody"] =
        Json{{"required", true}, {"content", {{"application/json", {{"schema", body}}}}}};
    Json& job = paths_["/api/v1/jobs/{id}"];
    job["get"] = JobEntry("get_job", "One job", "200", one);
    job["delete"] = JobEntry("cancel_job", "Cancels a job; one that is over stays as it is", "200", one);
    // Where another server runs the jobs of the store.
    job["delete"]["responses"]["202"] = job["delete"]["responses"]["200"];
    Json& cancel = paths_["/api/v1/jobs/{id}/cancel"];
    cancel["post"] = JobEntry("cancel_job_by_post", "Cancels a job, as DELETE does", "200", one);
    cancel["post"]["responses"]["202"] = cancel["post"]["responses"]["200"];
    Json& result = paths_["/api/v1/jobs/{id}/result"];
    result["get"] =
        JobEntry("get_job_result", "The reply of the operation; 409 while there is none", "200", one);
    result["get"]["responses"]["200"]["content"] =
        Json{{"application/json", {{"schema", {{"type", "object"}}}}}};
    for (Json* entry : {&job["get"], &job["delete"], &cancel["post"], &result["get"]})
      (*entry)["parameters"] = Json::array({id});
  }

  // `record` describes the answer; null: it has no body.
  Json Answered(const char* id, const char* about, const char* status, const RecordInfo* record = nullptr) {
    Json answer{{"description", about}};
    if (record != nullptr)
      answer["content"] = {{"application/json", {{"schema", Reference(SchemaOf(*record))}}}};
    return Json{{"operationId", id},
                {"tags", Json::array({"runs"})},
                {"summary", about},
                {"responses",
                 {{status, std::move(answer)},
                  {"4XX", ProblemResponse("The request is wrong, or names what does not exist")},
                  {"5XX", ProblemResponse("The server cannot answer now")}}}};
  }

  void AddUploads() {
    const Json text{{"type", "string"}}, count{{"type", "integer"}, {"minimum", 0}};
    const Json id = Parameter("id", "path", "The upload", text);
    Json& made = paths_["/api/v1/uploads"]["post"];
    made = Answered("create_upload", "Begins an upload in pieces; Location is its address", "201",
                    &RecordOf<UploadReply>());
    made["parameters"] =
        Json::array({Parameter("Upload-Length", "header", "Size of the file in bytes", count),
                     Parameter("name", "query", "File name of the profile", text)});
    Json& upload = paths_["/api/v1/uploads/{id}"];
    upload["get"] = Answered("get_upload", "Where the upload is: Upload-Offset and Upload-Length", "200",
                             &RecordOf<UploadReply>());
    upload["patch"] = Answered("send_piece", "Adds a piece; Upload-Offset is that of the next one", "204");
    upload["patch"]["requestBody"] =
        Json{{"required", true}, {"content", {{"application/offset+octet-stream", Json::object()}}}};
    upload["delete"] = Answered("delete_upload", "Forgets the upload", "204");
    for (const char* method : {"get", "patch", "delete"}) upload[method]["parameters"] = Json::array({id});
    upload["patch"]["parameters"].push_back(
        Parameter("Upload-Offset", "header", "Byte at which the piece begins", count));
  }

  void AddRecordings() {
    const Json text{{"type", "string"}}, texts{{"type", "array"}, {"items", text}},
        count{{"type", "integer"}, {"minimum", 0}}, on{{"type", "boolean"}};
    const auto body = [](Json properties, Json required) {
      return Json{{"required", true},
                  {"content",
                   {{"application/json",
                     {{"schema",
                       {{"type", "object"},
                        {"properties", std::move(properties)},
                        {"required", std::move(required)},
                        {"additionalProperties", false}}}}}}}};
    };
    Json& made = paths_["/api/v1/recordings"]["post"];
    made = Answered("begin_recording", "Begins a recording that another machine sends while it grows", "201",
                    &RecordOf<RecordingReply>());
    made["requestBody"] = body({{"command", texts}, {"started_at", text}}, Json::array({"command"}));
    Json& one = paths_["/api/v1/recordings/{id}"];
    one["put"] = Answered("update_recording", "What the recording has now; a sign of life of its sender",
                          "200", &RecordOf<RecordingReply>());
    one["put"]["requestBody"] = body({{"uploads", texts},
                                      {"state", {{"type", "string"}, {"enum", {"recording", "importing"}}}},
                                      {"recording", on},
                                      {"processes", count},
                                      {"kernels", count},
                                      {"ranges", count},
                                      {"lost_records", count}},
                                     Json::array());
    one["delete"] = Answered("end_recording", "The recording is over", "204");
    for (const char* method : {"put", "delete"})
      one[method]["parameters"] = Json::array({Parameter("id", "path", "The recording: its live_id", text)});
  }

  void AddOwnRoute(const char* path, const char* id, const char* about, const char* type,
                   Json content = Json::object()) {
    paths_[path]["get"] = Json{{"operationId", id},
                               {"tags", Json::array({"server"})},
                               {"summary", about},
                               {"responses",
                                {{"200", {{"description", about}, {"content", {{type, std::move(content)}}}}},
                                 {"4XX", ProblemResponse("The request is wrong")},
                                 {"5XX", ProblemResponse("The server cannot answer now")}}}};
  }

  void AddLogins() {
    const Json me{
        {"description", "Who is logged in"},
        {"content", {{"application/json", {{"schema", Reference(SchemaOf(RecordOf<MeReply>()))}}}}}};
    const auto entry = [](const char* id, const char* about, const char* status, Json reply) {
      return Json{{"operationId", id},
                  {"tags", Json::array({"server"})},
                  {"summary", about},
                  {"responses",
                   {{status, std::move(reply)},
                    {"4XX", ProblemResponse("Wrong name or password, too many attempts, or a wrong request")},
                    {"5XX", ProblemResponse("The server cannot answer now")}}}};
    };
    const Json text{{"type", "string"}};
    const Json body{{"type", "object"},
                    {"properties", {{"name", text}, {"password", text}}},
                    {"required", Json::array({"name", "password"})}};
    Json& login = paths_["/api/v1/login"]["post"];
    login = entry("login", "Begin a session; its secret is in an HttpOnly cookie", "200", me);
    login["requestBody"] = Json{{"required", true}, {"content", {{"application/json", {{"schema", body}}}}}};
    paths_["/api/v1/logout"]["post"] =
        entry("logout", "End the session", "204", Json{{"description", "The session has ended"}});
    paths_["/api/v1/me"]["get"] = entry("me", "Name and role of the one who asks", "200", me);
  }

  void AddOwnRoutes() {
    AddLogins();
    AddOwnRoute("/api/v1/events", "events", "Server-Sent Events: new runs, the progress of uploads, jobs",
                "text/event-stream");
    const auto state = [](const char* value) {
      return Json{{"schema",
                   {{"type", "object"},
                    {"properties", {{"status", {{"type", "string"}, {"const", value}}}}},
                    {"required", Json::array({"status"})},
                    {"additionalProperties", false}}}};
    };
    AddOwnRoute("/healthz", "healthz", "The server runs", "application/json", state("ok"));
    AddOwnRoute("/readyz", "readyz", "The store can be read", "application/json", state("ready"));
    AddOwnRoute("/metrics", "metrics", "Counters for Prometheus", "text/plain");
    AddOwnRoute("/openapi.json", "openapi", "This description", "application/json",
                {{"schema", {{"type", "object"}, {"required", Json::array({"openapi", "info", "paths"})}}}});
    AddOwnRoute("/", "app", "The web application", "text/html");
    AddOwnRoute("/docs", "docs", "The operations as a page", "text/html");
  }

  const RemoteOps& ops_;
  Json paths_ = Json::object(), schemas_ = Json::object();
};

}  // namespace

Json OpenApiDocument(const RemoteOps& ops) { return Writer(ops).Document(); }

}  // namespace nl::http
