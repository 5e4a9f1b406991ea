// SPDX-License-Identifier: Apache-2.0
#pragma once
// Server: the Model Context Protocol without a transport. JSON-RPC messages come in through Receive, answers
// and progress leave through the function given with each message. `neurolens mcp` binds it to stdin and
// stdout.
//
// What takes time (tools, resources) runs on a few threads with a bounded queue, so that ping and cancel are
// answered while a tool runs. A request that its client cancels is not answered, as the protocol asks.
// Thread rule: Receive from any thread. Messages of one Outlet leave one at a time, from any thread.
// Ownership: the destructor cancels what runs and waits for it; settings and operations must outlive it.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "serve/mcp/json_rpc.h"
#include "serve/mcp/resources.h"
#include "serve/mcp/tasks.h"
#include "serve/mcp/tools.h"

namespace nl::mcp {

// Newest first; the first is offered to a client that asks for one that is not listed.
inline constexpr std::string_view kProtocolVersions[] = {"2025-11-25", "2025-06-18", "2025-03-26",
                                                         "2024-11-05"};

struct ServerOptions {
  const std::vector<OpEntry>* ops = &AllOps();
  const Settings* settings = nullptr;
  Access access;
  const AllowedRoots* roots = nullptr;  // OpContext::roots, and of its tasks
  std::string actor{};                  // OpContext::actor of its requests
  bool is_admin = false;
  bool runs_jobs = false;  // OpContext::runs_jobs
  size_t threads = 2;
  size_t max_waiting = 32;  // requests beyond those that run; more are refused
  // Runs work of this cost elsewhere, instead of on threads of the server's own; false: it is refused. What
  // is given to it must run before the server is destroyed.
  std::function<bool(Cost, std::function<void()>)> run{};
  // After a tool that changes the store: `outcome` is "ok" or the code of the error.
  std::function<void(const OpInfo&, const Json& arguments, std::string_view outcome)> on_write{};
  bool resources_change = false;  // the transport notifies of new runs
  // Sends what is not part of an answer; empty: the transport cannot. With it, and where jobs may be started,
  // tools that take long can be called as tasks, and someone calls LookAtTasks.
  std::function<void(const std::string& message)> notify{};
};

// Where the answers to one message go.
struct Outlet {
  std::function<void(const std::string& message)> send;
  std::function<void()> done;  // nothing more follows; may be empty
};

class Server {
 public:
  explicit Server(ServerOptions options);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  void Receive(std::string_view message, Outlet outlet);
  // Asks a request to stop; it is not answered then.
  void Cancel(const Json& request_id);
  // Asks everything that runs or waits to stop.
  void CancelAll();
  // A few times a second: sends what became of tasks, and answers requests that wait for their end.
  void LookAtTasks();
  bool HasTasks() const;
  // Waits until nothing runs or waits.
  void Drain();

  const std::vector<Tool>& tools() const { return tools_; }

 private:
  class Exchange;
  struct Work;
  using Method = RpcAnswer (Server::*)(const Json& params);
  using SlowMethod = RpcAnswer (Server::*)(const Json& params, OpContext& context);

  void Handle(const RpcCall& call, const std::shared_ptr<Exchange>& exchange);
  void Notice(const RpcCall& call);
  void Start(const RpcCall& call, SlowMethod method, const std::shared_ptr<Exchange>& exchange);
  void RunWork();
  void RunOne(const std::shared_ptr<Work>& work);
  Cost CostOf(const Work& work) const;
  RpcAnswer Answer(Work& work);
  void Finish(const std::shared_ptr<Work>& work, const RpcAnswer& answer);

  RpcAnswer Initialize(const Json& params);
  RpcAnswer Nothing(const Json& params);
  RpcAnswer ListTools(const Json& params);
  RpcAnswer ListTemplates(const Json& params);
  RpcAnswer ListPrompts(const Json& params);
  RpcAnswer GetPrompt(const Json& params);
  RpcAnswer Call(const Json& params, OpContext& context);
  RpcAnswer GetTask(const Json& params, OpContext& context);
  RpcAnswer ListTasks(const Json& params, OpContext& context);
  RpcAnswer CancelTask(const Json& params, OpContext& context);
  RpcAnswer TaskResult(const Json& params, OpContext& context);
  RpcAnswer CallOnUploads(const Tool& tool, const Json& arguments, OpContext& context);
  bool Submit(const std::shared_ptr<Work>& work);
  RpcAnswer ListResources(const Json& params, OpContext& context);
  RpcAnswer Read(const Json& params, OpContext& context);
  RpcAnswer Complete(const Json& params, OpContext& context);

  const ServerOptions options_;
  const std::vector<Tool> tools_;
  const RunOps run_ops_;
  std::unique_ptr<Tasks> tasks_;  // null: not offered

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Work>> waiting_;
  std::map<std::string, std::shared_ptr<Work>> open_;  // by request id: waiting or running
  std::vector<std::shared_ptr<Work>> parked_;          // of those, what waits for the end of a task
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace nl::mcp
