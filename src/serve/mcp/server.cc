// SPDX-License-Identifier: Apache-2.0
#include "serve/mcp/server.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <new>

#include <fmt/format.h>

#include "base/version.h"
#include "ops/settings.h"
#include "serve/jobs/op_work.h"
#include "serve/mcp/program_call.h"
#include "serve/mcp/prompts.h"

namespace nl::mcp {

namespace {

constexpr size_t kToolsPerPage = 20;
constexpr std::chrono::milliseconds kProgressInterval{100};

constexpr char kInstructions[] =
    "NeuroLens records, explains and compares how models run on GPUs. Find a run with find_runs{}; then call "
    "explain for one run or compare for two, and follow `next` of the answer. An operation of `next` that is "
    "not among your tools is started with job. A run is named by its id, the start of its id, @latest, a tag "
    "or a model name{}. Answers have the most important rows first and at most max_tokens tokens; call again "
    "with the cursor of an answer for more rows.";

std::string TextOf(const Json& params, const char* name) {
  const auto it = params.find(name);
  return it != params.end() && it->is_string() ? it->get<std::string>() : "";
}

const RpcError kBusy{RpcCode::kServerBusy, "too many requests are waiting; send this one again later"};

RpcError BadParams(std::string message) { return {RpcCode::kInvalidParams, std::move(message)}; }

// Sends the progress of one request: values only grow, and not too often.
class Progress {
 public:
  Progress(Json token, std::function<void(const Json&)> send)
      : token_(std::move(token)), send_(std::move(send)) {}

  void Report(std::string_view what, int64_t done, int64_t total) {
    const std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (done <= last_ || now - sent_ < kProgressInterval) return;
    last_ = done;
    sent_ = now;
    Json params{{"progressToken", token_}, {"progress", done}, {"message", what}};
    if (total > 0) params["total"] = total;
    send_(RpcNotification("notifications/progress", std::move(params)));
  }

 private:
  const Json token_;
  const std::function<void(const Json&)> send_;
  std::mutex mutex_;
  int64_t last_ = -1;
  std::chrono::steady_clock::time_point sent_{};
};

}  // namespace

// The answers to one incoming text. A batch is answered by one list when its last request is done.
class Server::Exchange {
 public:
  Exchange(Outlet outlet, bool batch) : outlet_(std::move(outlet)), batch_(batch) {}
  ~Exchange() {
    if (batch_ && !answers_.empty()) outlet_.send(DumpJson(answers_));
    if (outlet_.done) outlet_.done();
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  void Answer(Json message) {
    const std::lock_guard lock(mutex_);
    if (batch_) {
      answers_.push_back(std::move(message));
    } else {
      outlet_.send(DumpJson(message));
    }
  }
  void Notify(const Json& message) {
    const std::lock_guard lock(mutex_);
    outlet_.send(DumpJson(message));
  }

 private:
  Outlet outlet_;
  const bool batch_;
  std::mutex mutex_;
  Json answers_ = Json::array();
};

struct Server::Work {
  Json id;
  Json params;
  SlowMethod method = nullptr;
  std::shared_ptr<Exchange> exchange;
  std::atomic<bool> cancelled{false};
  bool too_early = false;  // its task is not over: it waits, without a thread
};

Server::Server(ServerOptions options)
    : options_(std::move(options)),
      tools_(options_.notify && options_.access.writes
                 ? WithTaskSupport(ToolsOf(*options_.ops, options_.access), *options_.ops)
                 : ToolsOf(*options_.ops, options_.access)),
      run_ops_(RunOps::In(*options_.ops)) {
  if (options_.notify && options_.access.writes) {
    TaskOptions tasks{options_.settings, options_.actor.empty() ? jobs::kLocalOwner : options_.actor,
                      options_.access.local_caller, options_.roots};
    tasks_ = std::make_unique<Tasks>(std::move(tasks), tools_);
  }
  for (size_t i = 0; i < options_.threads && !options_.run; ++i) threads_.emplace_back([this] { RunWork(); });
}

Server::~Server() {
  CancelAll();
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Server::CancelAll() {
  const std::lock_guard lock(mutex_);
  for (auto& [id, work] : open_) work->cancelled = true;
}

void Server::Drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return open_.empty(); });
}

void Server::Receive(std::string_view message, Outlet outlet) {
  const RpcInput input = ParseRpc(message);
  const auto exchange = std::make_shared<Exchange>(std::move(outlet), input.batch);
  for (const RpcMessage& one : input.messages) {
    if (one.error) {
      exchange->Answer(RpcFailure(one.id, *one.error));
    } else if (one.call && one.call->id) {
      Handle(*one.call, exchange);
    } else if (one.call) {
      Notice(*one.call);
    }
  }
}

void Server::Handle(const RpcCall& call, const std::shared_ptr<Exchange>& exchange) {
  static const std::map<std::string, Method> kQuick = {
      {"initialize", &Server::Initialize},
      {"ping", &Server::Nothing},
      {"logging/setLevel", &Server::Nothing},
      {"tools/list", &Server::ListTools},
      {"resources/templates/list", &Server::ListTemplates},
      {"prompts/list", &Server::ListPrompts},
      {"prompts/get", &Server::GetPrompt},
  };
  static const std::map<std::string, SlowMethod> kSlow = {
      {"tools/call", &Server::Call},         {"resources/list", &Server::ListResources},
      {"resources/read", &Server::Read},     {"completion/complete", &Server::Complete},
      {"tasks/get", &Server::GetTask},       {"tasks/list", &Server::ListTasks},
      {"tasks/cancel", &Server::CancelTask}, {"tasks/result", &Server::TaskResult},
  };
  const bool about_tasks = call.method.starts_with("tasks/");
  if (const auto slow = kSlow.find(call.method); slow != kSlow.end() && (tasks_ || !about_tasks))
    return Start(call, slow->second, exchange);
  RpcAnswer answer = RpcError{RpcCode::kMethodNotFound, fmt::format("unknown method '{}'", call.method)};
  if (const auto quick = kQuick.find(call.method); quick != kQuick.end())
    answer = (this->*quick->second)(call.params);
  const auto* error = std::get_if<RpcError>(&answer);
  exchange->Answer(error != nullptr ? RpcFailure(*call.id, *error)
                                    : RpcResult(*call.id, std::get<Json>(std::move(answer))));
}

void Server::Notice(const RpcCall& call) {
  if (call.method == "notifications/cancelled" && call.params.contains("requestId"))
    Cancel(call.params["requestId"]);
}

void Server::Cancel(const Json& request_id) {
  const std::lock_guard lock(mutex_);
  const auto work = open_.find(DumpJson(request_id));
  if (work != open_.end()) work->second->cancelled = true;
}

void Server::Start(const RpcCall& call, SlowMethod method, const std::shared_ptr<Exchange>& exchange) {
  auto work = std::make_shared<Work>();
  work->id = *call.id;
  work->params = call.params;
  work->method = method;
  work->exchange = exchange;
  const std::string key = DumpJson(work->id);
  {
    const std::lock_guard lock(mutex_);
    if (open_.contains(key)) {
      exchange->Answer(RpcFailure(
          nullptr, {RpcCode::kInvalidRequest, fmt::format("request {} is still being answered", key)}));
      return;
    }
    const size_t waiting = options_.run ? open_.size() : waiting_.size();
    if (waiting >= options_.max_waiting) {
      exchange->Answer(RpcFailure(work->id, kBusy));
      return;
    }
    open_[key] = work;
  }
  if (Submit(work)) return;
  exchange->Answer(RpcFailure(work->id, kBusy));
  const std::lock_guard lock(mutex_);
  open_.erase(key);
}

bool Server::Submit(const std::shared_ptr<Work>& work) {
  if (options_.run) return options_.run(CostOf(*work), [this, work] { RunOne(work); });
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(work);
  }
  changed_.notify_all();
  return true;
}

bool Server::HasTasks() const {
  if (!tasks_) return false;
  const std::lock_guard lock(mutex_);
  return !parked_.empty() || tasks_->HasOpen();
}

void Server::LookAtTasks() {
  if (!HasTasks()) return;
  for (const Json& news : tasks_->News()) options_.notify(DumpJson(news));
  std::vector<std::shared_ptr<Work>> parked;
  {
    const std::lock_guard lock(mutex_);
    parked.swap(parked_);
  }
  // Asked again: what is still too early comes back.
  for (const std::shared_ptr<Work>& work : parked) RunOne(work);
}

// What decides where it runs. A report is an analysis; lists are read from the catalog.
Cost Server::CostOf(const Work& work) const {
  if (work.method == &Server::Read) return Cost::kSeconds;
  const Tool* tool = work.method == &Server::Call ? FindTool(tools_, TextOf(work.params, "name")) : nullptr;
  return tool != nullptr ? tool->info.cost : Cost::kInstant;
}

void Server::RunOne(const std::shared_ptr<Work>& work) {
  RpcAnswer answer = work->cancelled ? RpcAnswer(Json()) : Answer(*work);
  if (work->too_early && !work->cancelled) {
    work->too_early = false;
    const std::lock_guard lock(mutex_);
    parked_.push_back(work);
    return;
  }
  Finish(work, answer);
}

void Server::RunWork() {
  for (;;) {
    std::shared_ptr<Work> work;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      work = std::move(waiting_.front());
      waiting_.pop_front();
    }
    RunOne(work);
  }
}

// The edge of a request: whatever third-party code threw past its wrapper ends here.
RpcAnswer Server::Answer(Work& work) {
  OpContext context;
  context.settings = options_.settings;
  context.cancelled = &work.cancelled;
  context.remote = !options_.access.local_caller;
  context.roots = options_.roots;
  context.actor = options_.actor;
  context.is_admin = options_.is_admin;
  context.runs_jobs = options_.runs_jobs;
  if (work.method == &Server::TaskResult) context.too_long = &work.too_early;
  std::shared_ptr<Progress> progress;
  if (const auto meta = work.params.find("_meta");
      meta != work.params.end() && meta->is_object() && meta->contains("progressToken")) {
    progress = std::make_shared<Progress>((*meta)["progressToken"],
                                          [&work](const Json& message) { work.exchange->Notify(message); });
    progress->Report("started", 0, 0);
    context.progress = [progress](std::string_view what, int64_t done, int64_t total) {
      progress->Report(what, done, total);
    };
  }
  try {
    return (this->*work.method)(work.params, context);
  } catch (const std::bad_alloc&) {
    return RpcError{RpcCode::kInternalError, "not enough memory"};
  } catch (const std::exception& e) {
    return RpcError{RpcCode::kInternalError, fmt::format("unexpected exception: {}", e.what())};
  } catch (...) {
    return RpcError{RpcCode::kInternalError, "unexpected exception of unknown type"};
  }
}

void Server::Finish(const std::shared_ptr<Work>& work, const RpcAnswer& answer) {
  if (!work->cancelled) {
    const auto* error = std::get_if<RpcError>(&answer);
    work->exchange->Answer(error != nullptr ? RpcFailure(work->id, *error)
                                            : RpcResult(work->id, std::get<Json>(answer)));
  }
  work->exchange.reset();
  {
    const std::lock_guard lock(mutex_);
    open_.erase(DumpJson(work->id));
  }
  changed_.notify_all();
}

RpcAnswer Server::Initialize(const Json& params) {
  const std::string wanted = TextOf(params, "protocolVersion");
  const bool known = std::find(std::begin(kProtocolVersions), std::end(kProtocolVersions), wanted) !=
                     std::end(kProtocolVersions);
  const Json none = Json::object();
  Json resources = Json::object();
  if (options_.resources_change) resources["listChanged"] = true;
  Json out{
      {"protocolVersion", known ? wanted : std::string(kProtocolVersions[0])},
      {"capabilities",
       {{"tools", none},
        {"resources", std::move(resources)},
        {"prompts", none},
        {"completions", none},
        {"logging", none}}},
      {"serverInfo", {{"name", "neurolens"}, {"title", "NeuroLens"}, {"version", kVersion}}},
      {"instructions",
       fmt::format(kInstructions,
                   FindTool(tools_, "record") != nullptr   ? ", or record a program with record"
                   : FindTool(tools_, "import") != nullptr ? ", or import an uploaded profile with import"
                                                           : "",
                   options_.access.local_caller ? ", or by the path of a profile, which is imported" : "")}};
  if (tasks_)
    out["capabilities"]["tasks"] = {
        {"list", none}, {"cancel", none}, {"requests", {{"tools", {{"call", none}}}}}};
  return out;
}

RpcAnswer Server::Nothing(const Json&) { return Json::object(); }

RpcAnswer Server::ListTools(const Json& params) {
  size_t first = 0;
  if (const std::string cursor = TextOf(params, "cursor"); !cursor.empty()) {
    const char* end = cursor.data() + cursor.size();
    const auto [stop, error] = std::from_chars(cursor.data(), end, first);
    if (error != std::errc() || stop != end || first >= tools_.size())
      return BadParams("the cursor is not one that this server gave");
  }
  // Listed tools come first.
  const auto end = std::find_if(tools_.begin(), tools_.end(), [](const Tool& tool) { return !tool.listed; });
  const auto count = static_cast<size_t>(end - tools_.begin());
  Json list = Json::array();
  const size_t last = std::min(count, first + kToolsPerPage);
  for (size_t i = first; i < last; ++i) list.push_back(ToolJson(tools_[i]));
  Json out{{"tools", std::move(list)}};
  if (last < count) out["nextCursor"] = std::to_string(last);
  return out;
}

RpcAnswer Server::ListTemplates(const Json&) { return ResourceTemplates(); }

RpcAnswer Server::ListPrompts(const Json&) { return PromptList(); }

RpcAnswer Server::GetPrompt(const Json& params) {
  const auto arguments = params.find("arguments");
  const bool given = arguments != params.end() && arguments->is_object();
  return PromptMessages(TextOf(params, "name"), given ? *arguments : Json::object());
}

RpcAnswer Server::Call(const Json& params, OpContext& context) {
  const std::string name = TextOf(params, "name");
  const Tool* tool = FindTool(tools_, name);
  if (tool == nullptr) {
    std::string message = fmt::format("unknown tool '{}'", name.substr(0, 80));
    if (MakeOp(*options_.ops, name) != nullptr && !options_.access.all_tools)
      message += "; `neurolens mcp --toolset all` has more tools";
    return BadParams(std::move(message));
  }
  const auto given = params.find("arguments");
  const Json arguments = given == params.end() || given->is_null() ? Json::object() : *given;
  if (!arguments.is_object()) return BadParams("'arguments' must be an object");
  // Where tasks are not offered the member is ignored, as the protocol asks.
  const bool is_task = tasks_ && params.contains("task");
  if (is_task && !tool->as_task)
    return RpcError{RpcCode::kMethodNotFound,
                    fmt::format("the tool '{}' cannot be called as a task", tool->name)};
  const bool on_uploads =
      tool->takes_uploads && !(options_.access.server_files && arguments.contains("paths"));
  RpcAnswer answer = is_task                    ? tasks_->Start(*tool, arguments)
                     : on_uploads               ? CallOnUploads(*tool, arguments, context)
                     : tool->info.runs_programs ? RpcAnswer(CallProgramTool(*tool, arguments, context))
                                                : RpcAnswer(CallTool(*tool, arguments, context));
  if (std::holds_alternative<RpcError>(answer)) return answer;
  Json& result = std::get<Json>(answer);
  if (options_.on_write && ChangesStore(tool->info)) {
    const auto code = Json::json_pointer("/_meta/neurolens~1error/code");
    options_.on_write(tool->info, arguments, result.value(code, std::string("ok")));
  }
  return answer;
}

// The files came before, over HTTP: they are imported as one recording, and then forgotten.
RpcAnswer Server::CallOnUploads(const Tool& tool, const Json& arguments, OpContext& context) {
  if (arguments.contains("paths")) return ErrorResult(InvalidInput("unknown parameter 'paths'"));
  const std::vector<std::string> ids = jobs::UploadsOf(arguments);
  uploads::UploadStore store(options_.settings->Get("store"));
  Result<uploads::Spool> spool = store.Gather(ids);
  if (!spool.ok()) return ErrorResult(spool.error());
  Json args = arguments;
  args.erase(jobs::kUploadParam);
  args["paths"] = spool->files();
  context.received = spool->path();
  Tool with_files = tool;
  ParamInfo paths;
  paths.name = "paths";
  with_files.params.push_back(std::move(paths));
  Json result = CallTool(with_files, args, context);
  if (!result["isError"].get<bool>()) {
    for (const std::string& id : ids) static_cast<void>(store.Remove(id));
  }
  return result;
}

RpcAnswer Server::GetTask(const Json& params, OpContext&) { return tasks_->Get(TextOf(params, "taskId")); }

RpcAnswer Server::ListTasks(const Json& params, OpContext&) { return tasks_->List(TextOf(params, "cursor")); }

RpcAnswer Server::CancelTask(const Json& params, OpContext&) {
  return tasks_->Cancel(TextOf(params, "taskId"));
}

RpcAnswer Server::TaskResult(const Json& params, OpContext& context) {
  std::optional<RpcAnswer> answer = tasks_->ResultOf(TextOf(params, "taskId"));
  if (answer) return *std::move(answer);
  *context.too_long = true;
  return Json();
}

RpcAnswer Server::ListResources(const Json& params, OpContext& context) {
  return ResourceList(run_ops_, TextOf(params, "cursor"), context);
}

RpcAnswer Server::Read(const Json& params, OpContext& context) {
  const std::string uri = TextOf(params, "uri");
  if (uri.empty()) return BadParams("'uri' must be a string");
  return ReadResource(run_ops_, uri, context);
}

RpcAnswer Server::Complete(const Json& params, OpContext& context) {
  const auto argument = params.find("argument");
  if (argument == params.end() || !argument->is_object()) return BadParams("'argument' must be an object");
  // Every argument of our prompts and resources is a run.
  return CompleteRun(run_ops_, TextOf(*argument, "value"), context);
}

}  // namespace nl::mcp
