// SPDX-License-Identifier: Apache-2.0
#include "serve/http/mcp_endpoint.h"

#include <gtest/gtest.h>

#include "ops/settings.h"

namespace nl::http {
namespace {

constexpr char kInitialize[] =
    R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}})";
constexpr char kPing[] = R"({"jsonrpc":"2.0","id":2,"method":"ping"})";

struct NoApp final : App {
  HeadDecision OnHead(Request&) override { return {}; }
  void OnCall(std::shared_ptr<Call>) override {}
  void OnDone(const Request&, const Response&, double) override {}
  void OnReceived(size_t) override {}
  void OnTick() override {}
};

class McpEndpointTest : public ::testing::Test {
 protected:
  McpEndpointTest() : settings_(*Settings::Load({})), server_(app_, {}) {}

  void Make(McpEndpoint::Options options) {
    options.settings = &settings_;
    options.run = [this](Cost, std::function<void()> work) {
      if (waiting_.size() == 1) return false;
      waiting_.push_back(std::move(work));
      return true;
    };
    options.on_write = [](const auth::AuditEntry&) {};
    endpoint_ = std::make_unique<McpEndpoint>(std::move(options));
    endpoint_->Attach(server_);
  }
  std::shared_ptr<Call> Post(const std::string& body, const std::string& session,
                             const std::string& name = "ada") {
    auto call = std::make_shared<Call>();
    call->request.method = "POST";
    call->request.target = "/mcp";
    call->request.body = body;
    call->request.identity = {auth::Identity::Kind::kUser, name, auth::Role::kEditor, {}};
    if (!session.empty()) call->request.headers = {{"mcp-session-id", session}};
    call->on_response = [this](Response response) { responses_.push_back(std::move(response)); };
    call->on_events = [](std::string, bool) {};
    endpoint_->Post(call);
    return call;
  }
  std::string Begin(const std::string& name = "ada") {
    Post(kInitialize, "", name);
    for (const auto& [header, value] : responses_.back().headers) {
      if (header == "Mcp-Session-Id") return value;
    }
    return "";
  }
  int Status(const std::string& body, const std::string& session, const std::string& name = "ada") {
    Post(body, session, name);
    return responses_.back().status;
  }

  NoApp app_;
  Settings settings_;
  Server server_;
  std::vector<std::function<void()>> waiting_;
  std::vector<Response> responses_;
  std::unique_ptr<McpEndpoint> endpoint_;
};

TEST_F(McpEndpointTest, SessionsBelongToTheirOwnerAndAreBounded) {
  Make({.most_sessions = 3, .most_sessions_of_one = 2});
  const std::string first = Begin(), second = Begin();
  EXPECT_NE(first, second);
  EXPECT_EQ(Status(kPing, first), 200);
  EXPECT_EQ(Status(kPing, first, "bob"), 404);
  EXPECT_EQ(Begin(), "");
  EXPECT_EQ(responses_.back().status, 503);
  EXPECT_NE(Begin("bob"), "");
  EXPECT_EQ(Begin("eve"), "") << "all together";
  Request end;
  end.headers = {{"mcp-session-id", first}};
  end.identity = {auth::Identity::Kind::kUser, "ada", auth::Role::kViewer, {}};
  EXPECT_EQ(endpoint_->Delete(end).status, 404) << "a smaller role begins again";
  end.identity.role = auth::Role::kAdmin;
  EXPECT_EQ(endpoint_->Delete(end).status, 204);
  EXPECT_EQ(Status(kPing, first), 404);
  EXPECT_EQ(endpoint_->sessions(), 2u);
}

TEST_F(McpEndpointTest, IdleSessionsEnd) {
  Make({.idle = std::chrono::seconds(0)});
  const std::string id = Begin();
  EXPECT_EQ(endpoint_->sessions(), 1u);
  for (int i = 0; i < 100; ++i) endpoint_->Tick();
  EXPECT_EQ(endpoint_->sessions(), 0u);
  EXPECT_EQ(Status(kPing, id), 404);
}

TEST_F(McpEndpointTest, WorkThatNobodyWaitsForIsCancelledAndTooMuchIsRefused) {
  Make({});
  const std::string id = Begin();
  const size_t before = responses_.size();
  const std::string rules = R"({"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"rules"}})";
  const std::shared_ptr<Call> call = Post(rules, id);
  EXPECT_EQ(responses_.size(), before);
  Post(R"({"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"rules"}})", id);
  EXPECT_NE(responses_.back().body.find("-32000"), std::string::npos) << responses_.back().body;
  call->cancelled = true;
  endpoint_->Tick();
  waiting_.front()();
  waiting_.clear();
  EXPECT_EQ(responses_.back().status, 202) << "a cancelled request has no answer";
}

}  // namespace
}  // namespace nl::http
