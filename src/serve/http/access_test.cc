// SPDX-License-Identifier: Apache-2.0
#include "serve/http/access.h"

#include <gtest/gtest.h>

#include "base/file_ops.h"
#include "serve/auth/password.h"

namespace nl::http {
namespace {

class AccessTest : public ::testing::Test {
 protected:
  AccessTest()
      : folder_(*TempDir::Make("access")),
        exposure_{*ParseListen("127.0.0.1:7070")},
        authority_(folder_.path(), {}),
        access_(authority_, exposure_) {}

  std::string Token(const std::string& name, auth::Role role) {
    std::string secret;
    const Status done = auth::ChangeAccounts(folder_.path(), [&](auth::Accounts& accounts) -> Status {
      NL_ASSIGN(secret, auth::AddToken(accounts, name, role, 1, {}));
      return {};
    });
    EXPECT_TRUE(done.ok());
    return secret;
  }
  // The status of the refusal; 200: let in.
  int Ask(const std::string& method, const std::string& target, Fields headers = {}) {
    Request request;
    request.method = method;
    request.target = target;
    request.headers = std::move(headers);
    const std::optional<Response> refusal = access_.Check(request, RouteHead(ops_, request));
    asked_ = request;
    refused_ = refusal.value_or(Response());
    return refusal ? refusal->status : 200;
  }
  std::string Session(const std::string& cookie_of) {
    Request request;
    request.body = cookie_of;
    const Response reply = access_.Login(request, auth::AuditLog(folder_.path()));
    for (const auto& [name, value] : reply.headers) {
      if (name == "Set-Cookie") return value.substr(0, value.find(';'));
    }
    return "";
  }

  TempDir folder_;
  const RemoteOps ops_{AllOps()};
  Exposure exposure_;
  auth::Authority authority_;
  Access access_;
  Request asked_;
  Response refused_;
};

TEST_F(AccessTest, WithoutAccountsEverythingIsOpen) {
  EXPECT_EQ(Ask("GET", "/api/v1/runs"), 200);
  EXPECT_EQ(Ask("DELETE", "/api/v1/runs/x"), 200);
  EXPECT_EQ(asked_.identity.Label(), "nobody");
}

TEST_F(AccessTest, EveryRouteNeedsARoleButTheOpenOnes) {
  Token("ci", auth::Role::kViewer);
  for (const char* path : {"/healthz", "/readyz", "/docs", "/docs.js", "/docs.css"})
    EXPECT_EQ(Ask("GET", path), 200);
  EXPECT_EQ(Ask("POST", "/api/v1/login"), 200);
  for (const char* path : {"/metrics", "/openapi.json", "/api/v1/events", "/api/v1/me", "/api/v1/runs",
                           "/api/v1/runs/x/idle", "/nothing", "/api/v1/%zz"}) {
    EXPECT_EQ(Ask("GET", path), 401) << path;
    EXPECT_EQ(refused_.headers.back().first, "WWW-Authenticate");
  }
}

TEST_F(AccessTest, RolesFollowFromEffects) {
  const std::string viewer = "Bearer " + Token("v", auth::Role::kViewer);
  const std::string editor = "bearer  " + Token("e", auth::Role::kEditor);
  size_t writing = 0;
  for (const RemoteOp& op : ops_.all()) {
    const std::string path = "/api/v1/" + op.info.name;
    EXPECT_EQ(Ask("POST", path, {{"authorization", viewer}}), op.reads_only() ? 200 : 403) << path;
    EXPECT_EQ(Ask("POST", path, {{"authorization", editor}}), 200) << path;
    writing += op.reads_only() ? 0 : 1;
  }
  EXPECT_GE(writing, 3u);
  EXPECT_EQ(Ask("POST", "/api/v1/runs", {{"authorization", viewer}}), 403);
  EXPECT_NE(refused_.body.find("needs the role editor; the token 'v' has the role viewer"),
            std::string::npos);
  EXPECT_EQ(Ask("POST", "/api/v1/runs", {{"authorization", editor}}), 200);
  EXPECT_EQ(asked_.identity.Label(), "token:e");
  EXPECT_EQ(Ask("DELETE", "/api/v1/runs/x", {{"authorization", viewer}}), 403);
  for (const char* bad : {"", "Bearer", "Bearer ", "Basic dTpw", "Bearer nl_0", "nl_0"})
    EXPECT_EQ(Ask("GET", "/api/v1/runs", {{"authorization", bad}}), 401) << bad;
}

TEST_F(AccessTest, CookiesNeedAnOriginToChangeAnything) {
  ASSERT_TRUE(auth::ChangeAccounts(folder_.path(), [](auth::Accounts& accounts) {
                return auth::AddUser(accounts, "ada", auth::Role::kEditor, "correct horse", 1);
              }).ok());
  EXPECT_EQ(Session(R"({"name":"ada","password":"wrong horse"})"), "");
  EXPECT_EQ(Session(R"({"name":"ada"})"), "");
  EXPECT_EQ(Session("not JSON"), "");
  const std::string cookie = Session(R"({"name":"ada","password":"correct horse"})");
  ASSERT_EQ(cookie.rfind("neurolens_session=nls_", 0), 0u);
  const Fields headers{{"cookie", "a=b; " + cookie + "; c=d"}};
  EXPECT_EQ(Ask("GET", "/api/v1/runs", headers), 200);
  EXPECT_EQ(asked_.identity.Label(), "user:ada");
  EXPECT_EQ(Ask("POST", "/api/v1/rm", headers), 403);
  Fields with_origin = headers;
  with_origin.emplace_back("origin", "http://127.0.0.1:7070");
  EXPECT_EQ(Ask("POST", "/api/v1/rm", with_origin), 200);
  EXPECT_EQ(Ask("GET", "/api/v1/runs", {{"cookie", "neurolens_session=nls_0"}}), 401);
  EXPECT_EQ(Ask("GET", "/api/v1/runs", {{"cookie", "xneurolens_session=" + cookie}}), 401);
  EXPECT_EQ(Ask("GET", "/api/v1/runs", {{"cookie", cookie}, {"authorization", "Bearer nl_0"}}), 401)
      << "a wrong token is not made good by a cookie";
  access_.Logout(asked_);
  EXPECT_EQ(Ask("GET", "/api/v1/runs", headers), 401);
}

TEST_F(AccessTest, OnlyAProxyIsBelievedAboutAddresses) {
  const Fields forwarded{{"x-forwarded-for", "6.6.6.6, 10.0.0.7"}};
  Ask("GET", "/healthz", forwarded);
  EXPECT_EQ(asked_.client, "");
  exposure_.behind_proxy = true;
  Ask("GET", "/healthz", forwarded);
  EXPECT_EQ(asked_.client, "10.0.0.7");
  Ask("GET", "/healthz", {{"x-forwarded-for", "1.2.3.4, evil\x1b[31m"}});
  EXPECT_EQ(asked_.client, "");
}

}  // namespace
}  // namespace nl::http
