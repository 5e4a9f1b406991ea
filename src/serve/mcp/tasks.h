// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tasks of MCP revision 2025-11-25: a call of a tool that takes long, which goes on by itself. A task is a
// job of the store (serve/jobs) under its own id, so it survives the client and the server, and `neurolens
// jobs` shows it.
//
//   tools/call with `task`   starts it: CreateTaskResult, at once
//   tasks/get, tasks/list    its state: queued and running are `working`
//   tasks/result             what the tool answers; Server holds the request until the task is over
//   tasks/cancel             ends it
//
// A caller sees its own tasks only. Thread rule: any thread.

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "serve/jobs/job.h"
#include "serve/mcp/json_rpc.h"
#include "serve/mcp/tools.h"

namespace nl::mcp {

struct TaskOptions {
  const Settings* settings = nullptr;
  std::string owner;                    // of the jobs
  bool local = false;                   // the caller may name files of this machine
  const AllowedRoots* roots = nullptr;  // below which it may otherwise
};

class Tasks {
 public:
  Tasks(TaskOptions options, const std::vector<Tool>& tools);

  RpcAnswer Start(const Tool& tool, const Json& arguments);
  RpcAnswer Get(const std::string& task_id) const;
  RpcAnswer List(const std::string& cursor) const;
  RpcAnswer Cancel(const std::string& task_id);
  // What the tool answers; nothing: the task is not over.
  std::optional<RpcAnswer> ResultOf(const std::string& task_id) const;

  // The states that became others since the last call, of tasks that were started here: as notifications.
  std::vector<Json> News();
  // Tasks that were started here are not over, as far as News knows.
  bool HasOpen() const;

 private:
  struct Asked {
    std::string tool;
    Json arguments;  // with max_tokens and cursor
    jobs::JobState state = jobs::JobState::kQueued;
    bool over = false, cancelled = false;
  };
  bool WasCancelled(const std::string& task_id) const;
  Result<jobs::Job> Find(const std::string& task_id) const;
  std::optional<Asked> AskedFor(const std::string& task_id) const;

  const TaskOptions options_;
  const std::vector<Tool>& tools_;
  const std::string folder_;
  mutable std::mutex mutex_;
  std::map<std::string, Asked> asked_;  // by id; how the answers are to be given
};

// The tools with `as_task` where a call of them can be a job of the store.
std::vector<Tool> WithTaskSupport(std::vector<Tool> tools, const std::vector<OpEntry>& ops);

}  // namespace nl::mcp
