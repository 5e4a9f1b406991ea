// SPDX-License-Identifier: Apache-2.0
#include "serve/http/mcp_endpoint.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/ascii.h"
#include "base/terminal.h"
#include "serve/http/problem.h"
#include "serve/http/target.h"

namespace nl::http {

namespace {

using Steady = std::chrono::steady_clock;

constexpr char kSessionHeader[] = "mcp-session-id";
constexpr char kEventStream[] = "text/event-stream";
constexpr int64_t kTicksPerExpiry = 50, kTicksPerTasks = 2;

bool Accepts(const Request& request, std::string_view type) {
  const std::string accept = ToLower(request.Header("accept"));
  const std::string_view family = type.substr(0, type.find('/'));
  return accept.empty() || accept.find(type) != std::string::npos ||
         accept.find("*/*") != std::string::npos ||
         accept.find(fmt::format("{}/*", family)) != std::string::npos;
}

bool IsInitialize(const mcp::RpcMessage& message) {
  return message.call && message.call->id && message.call->method == "initialize";
}

bool WantsProgress(const mcp::RpcMessage& message) {
  if (!message.call || !message.call->id) return false;
  const auto meta = message.call->params.find("_meta");
  return meta != message.call->params.end() && meta->is_object() && meta->contains("progressToken");
}

std::string EventOf(const std::string& message) {
  return fmt::format("event: message\ndata: {}\n\n", message);
}

std::string TopicOf(const std::string& session) { return "mcp:" + session; }

Response NoSuchSession() {
  return ProblemOf(404, NotFound("unknown MCP session: it ended, or the server was started again")
                            .Hint("send `initialize` without the header Mcp-Session-Id"));
}

// "all" or "default", as ?toolset= says.
Result<bool> WantsAllTools(const Request& request) {
  NL_ASSIGN(const Target target, ParseTarget(request.target));
  bool all = false;
  for (const auto& [name, value] : target.query) {
    if (name != "toolset" || (value != "all" && value != "default"))
      return InvalidInput(
                 fmt::format("unknown parameter '{}={}'", PrintableName(name, 40), PrintableName(value, 40)))
          .Hint("/mcp takes toolset=default or toolset=all");
    all = value == "all";
  }
  return all;
}

}  // namespace

struct McpEndpoint::Session : std::enable_shared_from_this<McpEndpoint::Session> {
  std::string id, owner;
  auth::Role role = auth::Role::kViewer;
  Steady::time_point last_used = Steady::now();
  std::atomic<bool> looking{false};  // at its tasks
  std::unique_ptr<mcp::Server> server;
};

std::optional<Response> McpEndpoint::CheckHead(const Request& request) {
  if (const Result<bool> all = WantsAllTools(request); !all.ok()) return ProblemOf(all.error());
  const std::string_view version = request.Header("mcp-protocol-version");
  const auto& known = mcp::kProtocolVersions;
  if (!version.empty() && std::find(std::begin(known), std::end(known), version) == std::end(known)) {
    return ProblemOf(
        400, InvalidInput(fmt::format("unknown MCP-Protocol-Version '{}'", PrintableName(version, 40)))
                 .Hint(fmt::format("the newest that this server speaks is {}", known[0])));
  }
  if (request.method == "DELETE") return std::nullopt;
  const char* type = request.method == "GET" ? kEventStream : "application/json";
  if (Accepts(request, type)) return std::nullopt;
  return ProblemOf(406, InvalidInput(fmt::format("the answer is {}, which the client does not accept", type))
                            .Hint("send Accept: application/json, text/event-stream"));
}

Result<std::shared_ptr<McpEndpoint::Session>> McpEndpoint::Begin(const Request& request) {
  NL_ASSIGN(const bool all_tools, WantsAllTools(request));
  auto session = std::make_shared<Session>();
  session->id = RandomHex(64);
  session->owner = request.identity.Label();
  session->role = request.identity.role;
  mcp::ServerOptions options;
  options.settings = options_.settings;
  options.access = {all_tools, false, auth::Allows(session->role, auth::RoleForEffect(false)),
                    options_.roots != nullptr};
  options.roots = options_.roots;
  options.actor = session->owner;
  options.is_admin = auth::Allows(session->role, auth::Role::kAdmin);
  options.resources_change = true;
  options.run = [this, weak = session->weak_from_this()](Cost cost, std::function<void()> work) {
    // The session stays while its work waits or runs.
    std::shared_ptr<Session> self = weak.lock();
    return self != nullptr &&
           options_.run(cost, [self = std::move(self), work = std::move(work)] { work(); });
  };
  options.notify = [this, topic = TopicOf(session->id)](const std::string& message) {
    const auto event = std::make_shared<const std::string>(EventOf(message));
    server_->Post([this, event, topic] { server_->SendEvent(event, topic); });
  };
  options.on_write = [this, owner = session->owner, address = request.client](
                         const OpInfo& info, const Json& arguments, std::string_view outcome) {
    options_.on_write({owner, address, info.name, DumpJson(arguments), std::string(outcome)});
  };
  session->server = std::make_unique<mcp::Server>(std::move(options));
  const std::lock_guard lock(mutex_);
  const auto own =
      static_cast<size_t>(std::count_if(sessions_.begin(), sessions_.end(), [&](const auto& one) {
        return one.second->owner == session->owner;
      }));
  if (sessions_.size() >= options_.most_sessions || own >= options_.most_sessions_of_one)
    return Limit("too many MCP sessions are open").Hint("end sessions that are not used: DELETE /mcp");
  sessions_[session->id] = session;
  return session;
}

std::shared_ptr<McpEndpoint::Session> McpEndpoint::Find(const Request& request) {
  const std::lock_guard lock(mutex_);
  const auto it = sessions_.find(std::string(request.Header(kSessionHeader)));
  if (it == sessions_.end()) return nullptr;
  const std::shared_ptr<Session>& session = it->second;
  // Whose role became smaller begins again, with the tools of the new one.
  if (session->owner != request.identity.Label() || !auth::Allows(request.identity.role, session->role))
    return nullptr;
  session->last_used = Steady::now();
  return session;
}

void McpEndpoint::Post(const std::shared_ptr<Call>& call) {
  const Request& request = call->request;
  const mcp::RpcInput input = mcp::ParseRpc(request.body);
  const bool begins = std::any_of(input.messages.begin(), input.messages.end(), IsInitialize);
  if (begins && (input.messages.size() > 1 || !request.Header(kSessionHeader).empty()))
    return call->Respond(ProblemOf(400, InvalidInput("`initialize` comes alone and without Mcp-Session-Id")));
  if (begins) {
    const Result<std::shared_ptr<Session>> session = Begin(request);
    if (session.ok()) return Answer(call, *session, true, input);
    return call->Respond(session.error().code == ErrorCode::kLimit ? BusyProblem(session.error().message)
                                                                   : ProblemOf(session.error()));
  }
  if (request.Header(kSessionHeader).empty()) {
    return call->Respond(ProblemOf(
        400,
        InvalidInput("the header Mcp-Session-Id is missing").Hint("a session begins with `initialize`")));
  }
  const std::shared_ptr<Session> session = Find(request);
  session ? Answer(call, session, false, input) : call->Respond(NoSuchSession());
}

void McpEndpoint::Answer(const std::shared_ptr<Call>& call, const std::shared_ptr<Session>& session,
                         bool is_new, const mcp::RpcInput& input) {
  Pending pending{call, session, {}};
  bool wrong = !input.messages.empty(), streams = false;
  for (const mcp::RpcMessage& message : input.messages) {
    if (message.call && message.call->id) pending.ids.push_back(*message.call->id);
    wrong = wrong && message.error.has_value();
    streams = streams || WantsProgress(message);
  }
  if (!pending.ids.empty()) {
    const std::lock_guard lock(mutex_);
    pending_.push_back(std::move(pending));
  }
  if (streams && !is_new && !wrong && Accepts(call->request, kEventStream)) {
    return session->server->Receive(call->request.body, {[call](const std::string& message) {
                                                           call->SendEvents(EventOf(message), false);
                                                         },
                                                         [call] { call->SendEvents("", true); }});
  }
  auto answer = std::make_shared<std::string>();
  const auto respond = [call, answer, wrong, id = is_new ? session->id : std::string()] {
    Response out;
    // Nothing to answer: notifications, or a request that its client cancelled.
    out.status = answer->empty() ? 202 : wrong ? 400 : 200;
    out.body = std::move(*answer);
    out.headers.emplace_back("Cache-Control", "no-store");
    if (!id.empty()) out.headers.emplace_back("Mcp-Session-Id", id);
    call->Respond(std::move(out));
  };
  session->server->Receive(call->request.body,
                           {[answer](const std::string& message) { *answer = message; }, respond});
}

HeadDecision McpEndpoint::Get(const Request& request, std::function<bool()> still_allowed) {
  HeadDecision out;
  const std::shared_ptr<Session> session = Find(request);
  if (!session) {
    out.answer = NoSuchSession();
    return out;
  }
  // A message goes to one stream only; a client that connects again may have lost the old one.
  server_->EndStreams(TopicOf(session->id));
  out.is_event_stream = true;
  out.first_events = ": connected\n\n";
  out.topic = TopicOf(session->id);
  out.still_allowed = std::move(still_allowed);
  return out;
}

Response McpEndpoint::Delete(const Request& request) {
  const std::shared_ptr<Session> session = Find(request);
  if (!session) return NoSuchSession();
  {
    const std::lock_guard lock(mutex_);
    sessions_.erase(session->id);
  }
  session->server->CancelAll();
  server_->EndStreams(TopicOf(session->id));
  Response out;
  out.status = 204;
  return out;
}

void McpEndpoint::Tick() {
  std::vector<Pending> gone;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(pending_, [&](const Pending& one) {
      const std::shared_ptr<Call> call = one.call.lock();
      if (call && !call->cancelled) return false;
      if (call) gone.push_back(one);
      return true;
    });
  }
  // Nobody could receive the answer: streams cannot be resumed.
  for (const Pending& one : gone) {
    const std::shared_ptr<Session> session = one.session.lock();
    if (!session) continue;
    for (const Json& id : one.ids) session->server->Cancel(id);
  }
  if (++ticks_ % kTicksPerExpiry == 0) Expire();
  if (ticks_ % kTicksPerTasks == 0) LookAtTasks();
}

void McpEndpoint::LookAtTasks() {
  std::vector<std::shared_ptr<Session>> with_tasks;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, session] : sessions_) {
      if (session->server->HasTasks()) with_tasks.push_back(session);
    }
  }
  for (const std::shared_ptr<Session>& session : with_tasks) {
    if (session->looking.exchange(true)) continue;
    const bool taken = options_.run(Cost::kInstant, [session] {
      session->server->LookAtTasks();
      session->looking = false;
    });
    if (!taken) session->looking = false;
  }
}

void McpEndpoint::Expire() {
  std::vector<std::shared_ptr<Session>> ended;
  {
    const std::lock_guard lock(mutex_);
    const Steady::time_point limit = Steady::now() - options_.idle;
    for (auto it = sessions_.begin(); it != sessions_.end();) {
      const bool busy = it->second->last_used > limit || server_->HasStream(TopicOf(it->first));
      if (!busy) ended.push_back(it->second);
      it = busy ? std::next(it) : sessions_.erase(it);
    }
  }
  for (const auto& session : ended) session->server->CancelAll();
}

void McpEndpoint::RunsChanged() {
  static const auto event = std::make_shared<const std::string>(
      EventOf(DumpJson(mcp::RpcNotification("notifications/resources/list_changed", Json::object()))));
  std::vector<std::string> topics;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, session] : sessions_) topics.push_back(TopicOf(id));
  }
  for (const std::string& topic : topics) server_->SendEvent(event, topic);
}

void McpEndpoint::Stop() {
  const std::lock_guard lock(mutex_);
  for (const auto& [id, session] : sessions_) session->server->CancelAll();
}

size_t McpEndpoint::sessions() const {
  const std::lock_guard lock(mutex_);
  return sessions_.size();
}

}  // namespace nl::http
