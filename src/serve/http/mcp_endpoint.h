// SPDX-License-Identifier: Apache-2.0
#pragma once
// McpEndpoint: the Model Context Protocol over HTTP ("Streamable HTTP") at /mcp. A client begins a session
// with `initialize` and names it in Mcp-Session-Id from then on:
//
//   POST    messages; the answer is JSON, or an event stream when the request asks for progress
//   GET     an event stream with what the server has to say: runs were added
//   DELETE  ends the session
//
// A session belongs to the one who began it. Work runs where the owner says (Options::run), so that agents
// and other clients share the same limits. Thread rule: Get, Delete, Tick and RunsChanged on the thread of
// the server; Post on any. Ownership: a session lives until its last request has ended.

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "serve/auth/audit_log.h"
#include "serve/http/server.h"
#include "serve/mcp/server.h"

namespace nl::http {

class McpEndpoint {
 public:
  struct Options {
    const Settings* settings = nullptr;
    const AllowedRoots* roots = nullptr;  // where clients may name files; null: nowhere
    // Runs work of this cost on a worker; false: too much is waiting.
    std::function<bool(Cost, std::function<void()>)> run;
    // A tool that changes the store was called.
    std::function<void(const auth::AuditEntry&)> on_write;
    size_t most_sessions = 256, most_sessions_of_one = 64;
    std::chrono::seconds idle{3600};  // without a request and without a stream; then the session ends
  };
  explicit McpEndpoint(Options options) : options_(std::move(options)) {}

  void Attach(Server& server) { server_ = &server; }
  // The refusal of a request by its header; none: go on. `request.identity` is known.
  static std::optional<Response> CheckHead(const Request& request);
  void Post(const std::shared_ptr<Call>& call);
  // An event stream, or the refusal.
  HeadDecision Get(const Request& request, std::function<bool()> still_allowed);
  Response Delete(const Request& request);

  // Ten times a second: cancels what nobody waits for, ends idle sessions.
  void Tick();
  void RunsChanged();
  // Cancels everything.
  void Stop();
  size_t sessions() const;

 private:
  struct Session;
  struct Pending {  // a request under way
    std::weak_ptr<Call> call;
    std::weak_ptr<Session> session;
    std::vector<Json> ids;
  };
  Result<std::shared_ptr<Session>> Begin(const Request& request);
  std::shared_ptr<Session> Find(const Request& request);
  void Answer(const std::shared_ptr<Call>& call, const std::shared_ptr<Session>& session, bool is_new,
              const mcp::RpcInput& input);
  void Expire();
  void LookAtTasks();

  const Options options_;
  Server* server_ = nullptr;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Session>> sessions_;  // by id
  std::vector<Pending> pending_;
  int64_t ticks_ = 0;
};

}  // namespace nl::http
