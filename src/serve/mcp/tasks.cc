// SPDX-License-Identifier: Apache-2.0
#include "serve/mcp/tasks.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include <fmt/format.h>

#include "base/file_ops.h"
#include "base/terminal.h"
#include "ops/settings.h"
#include "serve/jobs/job_files.h"
#include "serve/jobs/op_work.h"

namespace nl::mcp {

namespace {

using jobs::Job;
using jobs::JobState;

constexpr int kPollEvery_ms = 500;
constexpr size_t kTasksPerPage = 50, kMostAsked = 1000;

const char* StatusName(JobState state) {
  switch (state) {
    case JobState::kQueued:
    case JobState::kRunning: return "working";
    case JobState::kDone: return "completed";
    case JobState::kFailed:
    case JobState::kInterrupted: return "failed";
    case JobState::kCancelled: return "cancelled";
  }
  return "failed";
}

std::string MessageOf(const Job& job) {
  if (job.error) return PrintableText(jobs::ToError(*job.error).ToString());
  if (job.state == JobState::kQueued) return fmt::format("{} waits", job.op);
  if (job.state != JobState::kRunning) return fmt::format("{} is {}", job.op, jobs::NameOf(job.state));
  if (!job.progress) return fmt::format("{} runs", job.op);
  const int64_t total = job.progress->total_bytes.value_or(0);
  const std::string what = PrintableText(job.progress->what);
  if (total <= 0) return what;
  return fmt::format("{} {} %", what, std::min<int64_t>(100, job.progress->done_bytes * 100 / total));
}

// A cancel that was asked for counts at once, and stays: so the protocol wants it.
Job AsTask(Job job, bool cancelled) {
  if (cancelled || (job.cancel_requested && !jobs::IsOver(job.state))) {
    job.state = JobState::kCancelled;
    job.error = jobs::ErrorOf(Cancelled());
  }
  return job;
}

// A store keeps its last jobs however old they are, so tasks never expire: `ttl` is null.
Json TaskJson(const Job& job) {
  return {{"taskId", job.job_id},
          {"status", StatusName(job.state)},
          {"statusMessage", MessageOf(job)},
          {"createdAt", job.created_at},
          {"lastUpdatedAt", job.finished_at ? *job.finished_at : job.started_at.value_or(job.created_at)},
          {"ttl", Json()},
          {"pollInterval", kPollEvery_ms}};
}

RpcError TaskError(const Error& error) {
  const bool ours = error.code == ErrorCode::kIo || error.code == ErrorCode::kInternal;
  std::string message = error.message;
  if (!error.hint.empty()) message += fmt::format(" (hint: {})", error.hint);
  return {ours ? RpcCode::kInternalError : RpcCode::kInvalidParams, std::move(message)};
}

// Files as every process finds them.
void MakeAbsolute(const Tool& tool, Json& args) {
  for (const ParamInfo& param : tool.params) {
    const auto given = args.find(param.name);
    const bool is_path = param.kind == ParamKind::kPath;
    if ((!is_path && !param.names_run) || given == args.end()) continue;
    const auto absolute = [is_path](Json& value) {
      if (value.is_string() && value != "-" && (is_path || PathExists(value.get<std::string>())))
        value = std::filesystem::absolute(value.get<std::string>()).string();
    };
    if (given->is_array()) {
      for (Json& value : *given) absolute(value);
    } else {
      absolute(*given);
    }
  }
}

}  // namespace

std::vector<Tool> WithTaskSupport(std::vector<Tool> tools, const std::vector<OpEntry>& ops) {
  const RemoteOps remote(ops);
  for (Tool& tool : tools) {
    const RemoteOp* op = remote.Find(tool.info.name);
    const bool imports = tool.info.role == ServerRole::kUpload;
    tool.as_task = tool.info.cost != Cost::kInstant && (imports || (op != nullptr && op->reads_only()));
  }
  return tools;
}

Tasks::Tasks(TaskOptions options, const std::vector<Tool>& tools)
    : options_(std::move(options)),
      tools_(tools),
      folder_(jobs::JobsFolder(options_.settings->Get("store"))) {}

RpcAnswer Tasks::Start(const Tool& tool, const Json& arguments) {
  const Result<Json> args = OperationArguments(tool, arguments);
  if (!args.ok()) return TaskError(args.error());
  Json params = *args;
  if (options_.local) MakeAbsolute(tool, params);
  const RemoteOps ops(AllOps(), options_.roots);
  uploads::UploadStore uploads(options_.settings->Get("store"));
  const jobs::OpWork work(ops, *options_.settings, &uploads);
  if (const Status right = work.Check(tool.info.name, params, options_.owner); !right.ok())
    return TaskError(right.error());
  const Result<Job> job = jobs::RequestJob(folder_, tool.info.name, params, options_.owner);
  if (!job.ok()) return TaskError(job.error());
  const std::lock_guard lock(mutex_);
  if (asked_.size() >= kMostAsked) asked_.erase(asked_.begin());  // the oldest: ids grow with time
  asked_[job->job_id] = {tool.name, arguments, job->state, false, false};
  return Json{{"task", TaskJson(*job)}};
}

Result<Job> Tasks::Find(const std::string& task_id) const {
  NL_ASSIGN(const std::vector<Job> all, jobs::ReadJobs(folder_));
  for (const Job& job : all) {
    if (job.job_id == task_id && job.owner == options_.owner) return AsTask(job, WasCancelled(task_id));
  }
  return NotFound(fmt::format("unknown task '{}'", PrintableName(task_id, 80)));
}

bool Tasks::WasCancelled(const std::string& task_id) const {
  const std::lock_guard lock(mutex_);
  const auto found = asked_.find(task_id);
  return found != asked_.end() && found->second.cancelled;
}

std::optional<Tasks::Asked> Tasks::AskedFor(const std::string& task_id) const {
  const std::lock_guard lock(mutex_);
  const auto found = asked_.find(task_id);
  return found == asked_.end() ? std::nullopt : std::optional<Asked>(found->second);
}

RpcAnswer Tasks::Get(const std::string& task_id) const {
  const Result<Job> job = Find(task_id);
  if (!job.ok()) return TaskError(job.error());
  return TaskJson(*job);
}

RpcAnswer Tasks::List(const std::string& cursor) const {
  size_t first = 0;
  const char* end = cursor.data() + cursor.size();
  if (!cursor.empty()) {
    const auto [stop, error] = std::from_chars(cursor.data(), end, first);
    if (error != std::errc() || stop != end)
      return RpcError{RpcCode::kInvalidParams, "the cursor is not one that this server gave"};
  }
  Result<std::vector<Job>> all = jobs::ReadJobs(folder_);
  if (!all.ok()) return TaskError(all.error());
  std::erase_if(*all, [this](const Job& job) { return job.owner != options_.owner; });
  std::reverse(all->begin(), all->end());  // newest first
  Json tasks = Json::array();
  for (size_t i = first; i < std::min(all->size(), first + kTasksPerPage); ++i) {
    const Job& job = (*all)[i];
    tasks.push_back(TaskJson(AsTask(job, WasCancelled(job.job_id))));
  }
  Json out{{"tasks", std::move(tasks)}};
  if (first + kTasksPerPage < all->size()) out["nextCursor"] = std::to_string(first + kTasksPerPage);
  return out;
}

RpcAnswer Tasks::Cancel(const std::string& task_id) {
  const Result<Job> job = Find(task_id);
  if (!job.ok()) return TaskError(job.error());
  if (jobs::IsOver(job->state))
    return RpcError{RpcCode::kInvalidParams,
                    fmt::format("the task is {} and cannot be cancelled", StatusName(job->state))};
  if (const Status left = jobs::RequestCancel(folder_, task_id); !left.ok()) return TaskError(left.error());
  {
    const std::lock_guard lock(mutex_);
    if (const auto asked = asked_.find(task_id); asked != asked_.end()) asked->second.cancelled = true;
  }
  return TaskJson(AsTask(*job, true));
}

std::optional<RpcAnswer> Tasks::ResultOf(const std::string& task_id) const {
  const Result<Job> job = Find(task_id);
  if (!job.ok()) return TaskError(job.error());
  if (!jobs::IsOver(job->state)) return std::nullopt;
  const std::optional<Asked> asked = AskedFor(task_id);
  const Tool* tool = FindTool(tools_, asked ? asked->tool : job->op);
  if (tool == nullptr)
    return RpcError{RpcCode::kInvalidParams, "the task is not of a tool that is offered here"};
  Result<std::string> reply = jobs::ReadResult(folder_, *job);
  Json result = reply.ok() ? StoredResult(*tool, asked ? asked->arguments : Json::object(), *reply,
                                          jobs::ReadResultText(folder_, *job))
                           : ErrorResult(reply.error());
  result["_meta"]["io.modelcontextprotocol/related-task"] = {{"taskId", task_id}};
  return RpcAnswer(std::move(result));
}

bool Tasks::HasOpen() const {
  const std::lock_guard lock(mutex_);
  return std::any_of(asked_.begin(), asked_.end(), [](const auto& one) { return !one.second.over; });
}

std::vector<Json> Tasks::News() {
  std::vector<Json> out;
  if (!HasOpen()) return out;
  const Result<std::vector<Job>> all = jobs::ReadJobs(folder_);
  if (!all.ok()) return out;
  const std::lock_guard lock(mutex_);
  for (const Job& found : *all) {
    const auto asked = asked_.find(found.job_id);
    if (asked == asked_.end() || asked->second.over) continue;
    const Job job = AsTask(found, asked->second.cancelled);
    if (asked->second.state == job.state) continue;
    asked->second.state = job.state;
    asked->second.over = jobs::IsOver(job.state);
    out.push_back(RpcNotification("notifications/tasks/status", TaskJson(job)));
  }
  return out;
}

}  // namespace nl::mcp
