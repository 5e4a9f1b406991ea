// SPDX-License-Identifier: Apache-2.0
#include "serve/http/job_desk.h"

#include <fmt/format.h>

#include "base/file_ops.h"
#include "ops/param_text.h"
#include "ops/settings.h"
#include "serve/http/problem.h"
#include "serve/jobs/job_files.h"

namespace nl::http {

namespace {

constexpr char kJobsPath[] = "/api/v1/jobs/";

Response JobResponse(int status, const jobs::Job& job) {
  Response out;
  out.status = status;
  out.body = DumpJson(jobs::ToJson(job), 2) + "\n";
  out.headers.emplace_back("Cache-Control", "no-store");
  if (status == 202) out.headers.emplace_back("Location", kJobsPath + job.job_id);
  return out;
}

// The fields of a list, described as parameters of operations are.
const std::vector<ParamInfo>& ListFields() {
  static const std::vector<ParamInfo> fields = [] {
    ParamInfo state{"state", "Only jobs in this state", ParamKind::kChoice};
    for (const std::string_view name : jobs::NamesOf(jobs::JobState{})) state.choices.emplace_back(name);
    ParamInfo limit{"limit", "At most this many jobs; 0 for all", ParamKind::kInt};
    ParamInfo offset{"offset", "Jobs to leave out, newest first", ParamKind::kInt};
    limit.min = offset.min = 0;
    limit.max = offset.max = 1e9;
    return std::vector<ParamInfo>{state, limit, offset};
  }();
  return fields;
}

Result<jobs::JobFilter> FilterOf(const Fields& query) {
  jobs::JobFilter out;
  for (const auto& [name, text] : query) {
    const std::string& key = name;
    const auto field = std::find_if(ListFields().begin(), ListFields().end(),
                                    [&](const ParamInfo& info) { return info.name == key; });
    if (field == ListFields().end()) return InvalidInput(fmt::format("unknown parameter '{}'", key));
    NL_ASSIGN(const Json value, ValueFromText(*field, fmt::format("parameter '{}'", key), text));
    if (key == "state") {
      out.state = jobs::StateOfName(value.get<std::string>());
      if (!out.state)
        return InvalidInput(fmt::format("parameter 'state' must be one of {}",
                                        fmt::join(jobs::NamesOf(jobs::JobState{}), ", ")));
      continue;
    }
    const auto number = value.get<int64_t>();
    if (static_cast<double>(number) < *field->min || static_cast<double>(number) > *field->max)
      return InvalidInput(fmt::format("parameter '{}' must be between 0 and 1000000000", key));
    (key == "limit" ? out.limit : out.offset) = number;
  }
  return out;
}

struct Wanted {
  std::string op;
  Json params = Json::object();
};

Result<Wanted> WantedOf(const std::string& body) {
  NL_ASSIGN(const Json given, ParseJson(body));
  if (!given.is_object()) return InvalidInput("the body must be a JSON object with op and params");
  Wanted out;
  for (const auto& [name, value] : given.items()) {
    if (name == "op" && value.is_string()) {
      out.op = value.get<std::string>();
    } else if (name == "params" && value.is_object()) {
      out.params = value;
    } else if (name == "op" || name == "params") {
      return InvalidInput(fmt::format("'{}' must be {}", name, name == "op" ? "a string" : "an object"));
    } else {
      return InvalidInput(fmt::format("unknown member '{}'", name)).Hint("a job has op and params");
    }
  }
  if (out.op.empty()) return InvalidInput("'op' is missing").Hint("name an operation of /openapi.json");
  return out;
}

}  // namespace

JobDesk::JobDesk(const Settings& settings, const RemoteOps& ops, uploads::UploadStore& uploads,
                 size_t threads, jobs::Runner::ChangeFn changed)
    : folder_(jobs::JobsFolder(settings.Get("store"))),
      threads_(threads),
      changed_(std::move(changed)),
      work_(ops, settings, &uploads) {}

std::shared_ptr<jobs::Runner> JobDesk::runner() const {
  const std::lock_guard lock(mutex_);
  return runner_;
}

Result<std::shared_ptr<jobs::Runner>> JobDesk::RunnerForWriting() {
  const std::lock_guard lock(mutex_);
  if (stopped_) return Limit("the server stops");
  if (runner_) return runner_;
  jobs::RunnerOptions options;
  options.folder = folder_;
  options.threads = threads_;
  options.result_prefix = kJobsPath;
  Result<std::unique_ptr<jobs::Runner>> made = jobs::Runner::Open(std::move(options), work_, changed_);
  if (!made.ok() && made.error().code == ErrorCode::kLimit) return std::shared_ptr<jobs::Runner>();
  if (!made.ok()) return std::move(made).error();
  runner_ = *std::move(made);
  return runner_;
}

void JobDesk::Adopt() {
  if (!runner() && PathExists(folder_)) static_cast<void>(RunnerForWriting());
}

void JobDesk::Stop(std::chrono::milliseconds grace) {
  std::shared_ptr<jobs::Runner> last;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    last = std::move(runner_);
  }
  if (last) last->Stop(grace);
}

size_t JobDesk::running() const {
  const auto now = runner();
  return now ? now->running() : 0;
}

size_t JobDesk::queued() const {
  const auto now = runner();
  return now ? now->queued() : 0;
}

Result<std::vector<jobs::Job>> JobDesk::All() const {
  if (const auto now = runner()) return now->All();
  return jobs::ReadJobs(folder_);
}

Result<jobs::Job> JobDesk::Get(const std::string& id) const {
  if (const auto now = runner()) return now->Get(id);
  NL_ASSIGN(const std::vector<jobs::Job> all, jobs::ReadJobs(folder_));
  return jobs::FindJob(all, id);
}

Response JobDesk::Answer(const Route& route, const Request& request) {
  const std::vector<std::string>& rest = route.rest;
  if (rest.empty()) return request.method == "POST" ? Submit(request) : List(route.query);
  if (request.method == "DELETE" || request.method == "POST") return Cancel(rest[0], request.identity);
  if (rest.size() == 2) return ResultOf(rest[0]);
  const Result<jobs::Job> job = Get(rest[0]);
  return job.ok() ? JobResponse(200, *job) : ProblemOf(job.error());
}

Response JobDesk::Submit(const Request& request) {
  const Result<Wanted> wanted = WantedOf(request.body);
  if (!wanted.ok()) return ProblemOf(wanted.error());
  if (const Status right = work_.Check(wanted->op, wanted->params, request.identity.Label()); !right.ok())
    return ProblemOf(right.error());
  const Result<std::shared_ptr<jobs::Runner>> now = RunnerForWriting();
  if (!now.ok()) return ProblemOf(now.error());
  const std::string owner = request.identity.Label();
  const Result<jobs::Job> job = *now ? (*now)->Submit(wanted->op, wanted->params, owner)
                                     : jobs::RequestJob(folder_, wanted->op, wanted->params, owner);
  if (job.ok()) return JobResponse(202, *job);
  return job.error().code == ErrorCode::kLimit ? BusyProblem(job.error().message) : ProblemOf(job.error());
}

Response JobDesk::List(const Fields& query) const {
  const Result<jobs::JobFilter> filter = FilterOf(query);
  if (!filter.ok()) return ProblemOf(filter.error());
  const Result<std::vector<jobs::Job>> all = All();
  if (!all.ok()) return ProblemOf(all.error());
  Response out;
  out.body = Reply::Of(jobs::ListJobs(*all, *filter)).JsonText(2) + "\n";
  out.headers.emplace_back("Cache-Control", "no-store");
  return out;
}

Response JobDesk::Cancel(const std::string& id, const auth::Identity& who) {
  const Result<jobs::Job> job = Get(id);
  if (!job.ok()) return ProblemOf(job.error());
  const bool all = auth::Allows(who.role, auth::Role::kAdmin);
  if (const Status allowed = jobs::CheckCancel(*job, who.Label(), all); !allowed.ok())
    return ProblemOf(403, allowed.error());
  const Result<std::shared_ptr<jobs::Runner>> now = RunnerForWriting();
  if (!now.ok()) return ProblemOf(now.error());
  if (*now) {
    const Result<jobs::Job> cancelled = (*now)->Cancel(job->job_id);
    return cancelled.ok() ? JobResponse(200, *cancelled) : ProblemOf(cancelled.error());
  }
  if (const Status left = jobs::RequestCancel(folder_, job->job_id); !left.ok())
    return ProblemOf(left.error());
  return JobResponse(202, *job);
}

Response JobDesk::ResultOf(const std::string& id) const {
  const Result<jobs::Job> job = Get(id);
  if (!job.ok()) return ProblemOf(job.error());
  Result<std::string> result = jobs::ReadResult(folder_, *job);
  if (!result.ok()) {
    const bool early = !jobs::IsOver(job->state);
    Response out = early ? ProblemOf(409, result.error()) : ProblemOf(result.error());
    if (early) out.headers.emplace_back("Retry-After", "1");
    return out;
  }
  Response out;
  out.body = *std::move(result);
  return out;
}

}  // namespace nl::http
