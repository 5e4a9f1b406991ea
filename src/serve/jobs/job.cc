// SPDX-License-Identifier: Apache-2.0
#include "serve/jobs/job.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/record_json.h"
#include "base/terminal.h"

namespace nl::jobs {

namespace {

constexpr size_t kShortestPrefix = 4;

constexpr ErrorCode kAllCodes[] = {ErrorCode::kInvalidInput, ErrorCode::kUnsupported, ErrorCode::kNotFound,
                                   ErrorCode::kIo,           ErrorCode::kLimit,       ErrorCode::kCancelled,
                                   ErrorCode::kInternal};

// Members of a JSON object, with the first wrong type remembered.
class Members {
 public:
  explicit Members(const Json& json) : json_(json) {}
  bool ok() const { return ok_; }

  std::optional<std::string> Text(const char* name) { return Get<std::string>(name, &Json::is_string); }
  std::optional<int64_t> Int(const char* name) { return Get<int64_t>(name, &Json::is_number_integer); }
  std::optional<bool> Bool(const char* name) { return Get<bool>(name, &Json::is_boolean); }
  const Json* Object(const char* name) {
    const auto it = json_.find(name);
    if (it == json_.end() || it->is_null()) return nullptr;
    ok_ = ok_ && it->is_object();
    return it->is_object() ? &*it : nullptr;
  }
  void Require(bool present) { ok_ = ok_ && present; }

 private:
  template <class T>
  std::optional<T> Get(const char* name, bool (Json::*is)() const noexcept) {
    const auto it = json_.find(name);
    if (it == json_.end() || it->is_null()) return std::nullopt;
    if (!((*it).*is)()) {
      ok_ = false;
      return std::nullopt;
    }
    return it->template get<T>();
  }

  const Json& json_;
  bool ok_ = true;
};

}  // namespace

std::span<const std::string_view> NamesOf(JobState) {
  static constexpr std::string_view kNames[] = {"queued", "running",   "done",
                                                "failed", "cancelled", "interrupted"};
  return kNames;
}

std::string_view NameOf(JobState state) { return NamesOf(state)[static_cast<size_t>(state)]; }

std::optional<JobState> StateOfName(std::string_view name) {
  const auto names = NamesOf(JobState{});
  const auto it = std::find(names.begin(), names.end(), name);
  if (it == names.end()) return std::nullopt;
  return static_cast<JobState>(it - names.begin());
}

bool IsOver(JobState state) { return state != JobState::kQueued && state != JobState::kRunning; }

bool MayBecome(JobState from, JobState to) {
  switch (from) {
    case JobState::kQueued:
      return to == JobState::kRunning || to == JobState::kCancelled || to == JobState::kFailed;
    case JobState::kRunning: return to != JobState::kRunning;
    default: return false;
  }
}

void Describe(Record<JobProgress>& r) {
  r.Name("JobProgress", "How far a running job is");
  r.Field("what", &JobProgress::what, "What it does now");
  r.Field("done_bytes", &JobProgress::done_bytes, Unit::kBytes, "Bytes that are done");
  r.Field("total_bytes", &JobProgress::total_bytes, Unit::kBytes, "Bytes in all");
}

void Describe(Record<JobError>& r) {
  r.Name("JobError", "Why a job has no result, as in a problem document");
  r.Field("code", &JobError::code, "Code of the error, as the command line gives it with --json");
  r.Field("detail", &JobError::detail, "What failed, and why");
  r.Field("file", &JobError::file, "The input at fault");
  r.Field("byte_offset", &JobError::byte_offset, Unit::kBytes, "Where in that input");
  r.Field("hint", &JobError::hint, "What to do");
}

JobError ErrorOf(const Error& error) {
  JobError out{std::string(ErrorCodeName(error.code)), error.message, KnownText(error.file), {}, {}};
  if (error.byte_offset >= 0) out.byte_offset = error.byte_offset;
  out.hint = KnownText(error.hint);
  return out;
}

Error ToError(const JobError& error) {
  Error out;
  const auto code = std::find_if(std::begin(kAllCodes), std::end(kAllCodes),
                                 [&](ErrorCode c) { return ErrorCodeName(c) == error.code; });
  if (code != std::end(kAllCodes)) out.code = *code;
  out.message = error.detail;
  out.file = error.file.value_or("");
  out.byte_offset = error.byte_offset.value_or(-1);
  out.hint = error.hint.value_or("");
  return out;
}

void Describe(Record<Job>& r) {
  r.Name("Job", "An operation that runs in the background, and its result");
  r.Field("job_id", &Job::job_id, "Id");
  r.Field("op", &Job::op, "Operation");
  r.Field("owner", &Job::owner,
          "Who started it: user:NAME, token:NAME, nobody where no login is needed, local for commands");
  r.Field("params", &Job::params, "Its parameters, as given");
  r.Field("state", &Job::state, "State; the last four are final");
  r.Field("cancel_requested", &Job::cancel_requested, "Someone asked to cancel it");
  r.Field("attempts", &Job::attempts, "Times it was started; more than 1 after the server ended meanwhile");
  r.Field("created_at", &Job::created_at, "Time it was asked for (RFC 3339, UTC)");
  r.Field("started_at", &Job::started_at, "Time of the last start");
  r.Field("finished_at", &Job::finished_at, "Time of its end");
  r.Field("progress", &Job::progress, "How far it is, while it runs and when that is known");
  r.Field("error", &Job::error, "Why it has no result");
  r.Field("result_bytes", &Job::result_bytes, Unit::kBytes, "Size of the result");
  r.Field("result", &Job::result, "Where the server gives the result: the reply of the operation");
}

Json ToJson(const Job& job) { return ToDocument(job); }

Result<Job> JobFromJson(const Json& json) {
  if (!json.is_object()) return InvalidInput("a job must be a JSON object");
  Members m(json);
  Job job;
  const auto id = m.Text("job_id"), op = m.Text("op"), state = m.Text("state");
  m.Require(id && op && state && StateOfName(*state));
  if (!m.ok()) return InvalidInput("a job needs job_id, op and state");
  job.job_id = *id;
  job.op = *op;
  job.owner = m.Text("owner").value_or("nobody");  // journals of older versions have none
  job.state = *StateOfName(*state);
  if (const Json* params = m.Object("params")) job.params = *params;
  job.cancel_requested = m.Bool("cancel_requested").value_or(false);
  job.attempts = m.Int("attempts").value_or(0);
  job.created_at = m.Text("created_at").value_or("");
  job.started_at = m.Text("started_at");
  job.finished_at = m.Text("finished_at");
  job.result_bytes = m.Int("result_bytes");
  job.result = m.Text("result");
  if (const Json* error = m.Object("error")) {
    Members e(*error);
    job.error = JobError{e.Text("code").value_or(""), e.Text("detail").value_or(""), e.Text("file"),
                         e.Int("byte_offset"), e.Text("hint")};
    m.Require(e.ok());
  }
  if (!m.ok()) return InvalidInput("a member of the job has the wrong type");
  return job;
}

Status CheckCancel(const Job& job, std::string_view actor, bool all) {
  if (all || actor.empty() || job.owner == actor) return {};
  return Unsupported(fmt::format("the job belongs to {}; {} may not cancel it", PrintableName(job.owner, 80),
                                 PrintableName(actor, 80)))
      .Hint("an admin may");
}

void Describe(Record<JobsReply>& r) {
  r.Name("JobsReply", "Reply of GET /api/v1/jobs");
  r.Field("jobs_total", &JobsReply::jobs_total, "Jobs that match the filter");
  r.Field("next_offset", &JobsReply::next_offset, "Offset of the next page; null: this is the last one");
  r.Field("jobs", &JobsReply::jobs, "Jobs, newest first");
}

JobsReply ListJobs(const std::vector<Job>& jobs, const JobFilter& filter) {
  JobsReply out;
  for (auto job = jobs.rbegin(); job != jobs.rend(); ++job) {
    if (filter.state && job->state != *filter.state) continue;
    const int64_t at = out.jobs_total++;
    if (at < filter.offset || (filter.limit > 0 && at - filter.offset >= filter.limit)) continue;
    out.jobs.push_back(*job);
  }
  const int64_t end = filter.offset + static_cast<int64_t>(out.jobs.size());
  if (!out.jobs.empty() && end < out.jobs_total) out.next_offset = end;
  return out;
}

Result<Job> FindJob(const std::vector<Job>& jobs, std::string_view id) {
  const Job* found = nullptr;
  for (const Job& job : jobs) {
    if (job.job_id == id) return job;
    if (id.size() < kShortestPrefix || !job.job_id.starts_with(id)) continue;
    if (found != nullptr)
      return InvalidInput(fmt::format("'{}' names more than one job", id)).Hint("give more characters");
    found = &job;
  }
  if (found == nullptr)
    return NotFound(fmt::format("no such job: {}", PrintableName(id, 80)))
        .Hint("`neurolens jobs` lists them");
  return *found;
}

}  // namespace nl::jobs
