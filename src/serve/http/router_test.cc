// SPDX-License-Identifier: Apache-2.0
#include "serve/http/router.h"

#include <gtest/gtest.h>

#include "serve/http/openapi.h"
#include "serve/http/problem.h"
#include "serve/http/target.h"

namespace nl::http {
namespace {

const RemoteOps& Ops() {
  static const RemoteOps ops(AllOps());
  return ops;
}

Routed Ask(const std::string& method, const std::string& target) {
  Request request;
  request.method = method;
  request.target = target;
  return RouteHead(Ops(), request);
}

std::string HeaderOf(const Response& response, const std::string& name) {
  for (const auto& [key, value] : response.headers) {
    if (key == name) return value;
  }
  return "";
}

TEST(Router, OperationsTakeTypedFields) {
  const Routed routed = Ask("GET", "/api/v1/idle?run=%40latest&limit=5");
  ASSERT_TRUE(routed.ok);
  EXPECT_EQ(routed.route.op->info.name, "idle");
  EXPECT_EQ(routed.route.label, "/api/v1/idle");
  EXPECT_EQ(DumpJson(routed.route.args), R"({"run":"@latest","limit":5})");
  EXPECT_FALSE(routed.route.has_etag);
}

TEST(Router, ResourcesNameTheRun) {
  const Routed shown = Ask("GET", "/api/v1/runs/a%2Fb");
  EXPECT_EQ(shown.route.op->info.name, "show");
  EXPECT_EQ(shown.route.args["run"], "a/b");
  EXPECT_TRUE(shown.route.has_etag);
  EXPECT_EQ(Ask("GET", "/api/v1/runs/x/analyze").route.args["target"], "x");
  const Routed query = Ask("GET", "/api/v1/runs/x/query?args=SELECT+1");
  EXPECT_EQ(DumpJson(query.route.args), R"({"args":["x","SELECT 1"]})");
  const Routed removed = Ask("DELETE", "/api/v1/runs/x?force=true");
  EXPECT_EQ(removed.route.op->info.name, "rm");
  EXPECT_EQ(DumpJson(removed.route.args), R"({"runs":["x"],"force":true})");
}

TEST(Router, ViewsOfTheApplicationAreItsPage) {
  for (const char* path : {"/", "/runs", "/runs/x/flame?q=1", "/compare?a=1", "/sql", "/login"}) {
    const Routed routed = Ask("GET", path);
    ASSERT_TRUE(routed.ok) << path;
    EXPECT_EQ(routed.route.endpoint, Endpoint::kApp) << path;
    EXPECT_EQ(routed.route.label, "/{view}") << path;
  }
  EXPECT_EQ(Ask("GET", "/assets/app-1.js").route.endpoint, Endpoint::kAppAsset);
  EXPECT_EQ(Ask("GET", "/docs").route.endpoint, Endpoint::kDocs);
  EXPECT_FALSE(Ask("GET", "//runs").ok);
  EXPECT_FALSE(Ask("GET", "/runsx").ok);
  EXPECT_EQ(Ask("POST", "/runs").problem.status, 405);
}

TEST(Router, WrongRequestsHaveTheRightStatus) {
  const struct {
    const char *method, *target;
    int status;
    const char* allow;
  } cases[] = {
      {"GET", "/nothing", 404, ""},
      {"GET", "/api/v1/nothing", 404, ""},
      {"GET", "/api/v1/runs/x/version", 404, ""},
      {"GET", "/api/v1/runs/x/idle/more", 404, ""},
      {"GET", "/api/v1/idle?limit=many", 400, ""},
      {"GET", "/api/v1/idle?limit=1&limit=2", 400, ""},
      {"GET", "/api/v1/idle?unknown=1", 400, ""},
      {"GET", "/api/v1/runs/x/idle?run=y", 400, ""},
      {"GET", "/api/v1/%zz", 400, ""},
      {"GET", "/api/v1/rm", 405, "POST"},
      {"PUT", "/api/v1/idle", 405, "GET, HEAD, POST"},
      {"PUT", "/api/v1/runs", 405, "GET, HEAD, POST"},
      {"POST", "/api/v1/runs/x", 405, "GET, HEAD, DELETE"},
      {"POST", "/healthz", 405, "GET, HEAD"},
  };
  for (const auto& c : cases) {
    const Routed routed = Ask(c.method, c.target);
    EXPECT_FALSE(routed.ok) << c.target;
    EXPECT_EQ(routed.problem.status, c.status) << c.method << " " << c.target;
    EXPECT_EQ(routed.problem.content_type, kProblemType);
    EXPECT_EQ(HeaderOf(routed.problem, "Allow"), c.allow) << c.target;
  }
}

TEST(Router, LocalThingsAreNotOffered) {
  for (const char* name :
       {"import", "run", "record", "profile", "serve", "report", "export", "config", "validate", "docs"})
    EXPECT_EQ(Ops().Find(name), nullptr) << name;
  for (const RemoteOp& op : Ops().all()) {
    EXPECT_FALSE(op.info.local);
    for (const ParamInfo& param : op.params)
      EXPECT_TRUE(!param.local_only && param.kind != ParamKind::kPath) << op.info.name << " " << param.name;
  }
  EXPECT_EQ(Ask("GET", "/api/v1/query?out=/etc/x&args=SELECT+1").problem.status, 400);
  EXPECT_EQ(Ask("POST", "/api/v1/runs?paths=/etc/passwd").problem.status, 400);
}

TEST(Router, BodiesAddToTheArguments) {
  const RemoteOp& idle = *Ops().Find("idle");
  Json args{{"run", "x"}};
  EXPECT_TRUE(AddBody(idle, R"({"limit":3})", args).ok());
  EXPECT_EQ(DumpJson(args), R"({"run":"x","limit":3})");
  EXPECT_EQ(AddBody(idle, R"({"run":"y"})", args).error().message, "parameter 'run' is given twice");
  EXPECT_EQ(AddBody(idle, R"({"out":"y"})", args).error().message, "unknown parameter 'out'");
  EXPECT_FALSE(AddBody(idle, "[1]", args).ok());
  EXPECT_FALSE(AddBody(idle, "{", args).ok());
  EXPECT_TRUE(AddBody(idle, "", args).ok());
}

TEST(Router, UploadsAreNamedWithoutFolders) {
  Request request;
  EXPECT_EQ(UploadName(request, {{"name", "../../etc/trace.json.gz"}}), "trace.json.gz");
  EXPECT_EQ(UploadName(request, Json::object()), "upload");
  EXPECT_EQ(UploadName(request, {{"name", ".."}}), "upload");
  request.headers = {{"content-disposition", "attachment; filename=\"a b.json\"; size=3"}};
  EXPECT_EQ(UploadName(request, Json::object()), "a b.json");
  request.headers = {{"content-disposition", "attachment; filename=c.json; size=3"}};
  EXPECT_EQ(UploadName(request, Json::object()), "c.json");
}

TEST(Target, EscapesAreDecodedOnce) {
  const Result<Target> target = ParseTarget("/a%2525/%2e%2e/b?x=1+2&y&&z=%26%0A");
  ASSERT_TRUE(target.ok());
  EXPECT_EQ(target->segments, (std::vector<std::string>{"a%25", "..", "b"}));
  EXPECT_EQ(target->query, (Fields{{"x", "1 2"}, {"y", ""}, {"z", "&\n"}}));
}

TEST(Target, BadOnesAreRefused) {
  for (const char* text : {"", "x", "/%", "/%4", "/%4g", "/%00", "/%0a", "/a?b=%00", "/%ff", "/\x7f"})
    EXPECT_FALSE(ParseTarget(text).ok()) << text;
}

TEST(Problem, HasTheErrorOfTheCommandLine) {
  const Response response = ProblemOf(InvalidInput("broken").At("x.json", 7).Hint("mend it"));
  const Json document = *ParseJson(response.body);
  EXPECT_EQ(response.status, 400);
  EXPECT_EQ(document["code"], "invalid_input");
  EXPECT_EQ(document["detail"], "broken");
  EXPECT_EQ(document["file"], "x.json");
  EXPECT_EQ(document["byte_offset"], 7);
  EXPECT_EQ(document["hint"], "mend it");
}

void CollectReferences(const Json& json, std::vector<std::string>& out) {
  if (json.is_object() && json.contains("$ref")) out.push_back(json["$ref"].get<std::string>());
  if (json.is_structured()) {
    for (const Json& part : json) CollectReferences(part, out);
  }
}

TEST(OpenApi, EveryReferenceHasItsSchema) {
  const Json document = OpenApiDocument(Ops());
  std::vector<std::string> references;
  CollectReferences(document, references);
  EXPECT_GT(references.size(), 50u);
  for (const std::string& reference : references)
    EXPECT_TRUE(document.contains(Json::json_pointer(reference.substr(1)))) << reference;
  for (const RemoteOp& op : Ops().all()) EXPECT_TRUE(document["paths"].contains("/api/v1/" + op.info.name));
}

}  // namespace
}  // namespace nl::http
