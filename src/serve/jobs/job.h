// SPDX-License-Identifier: Apache-2.0
#pragma once
// Job: an operation that was asked for and runs by itself. The struct is what every face shows and what the
// journal keeps (base/journal.h), so a job reads the same before and after a restart.
//
//   queued ──► running ──► done | failed | cancelled | interrupted
//      │          └──► queued     the server ended meanwhile, and running it again is safe
//      └──► cancelled | failed
//
// Thread rule: plain values and pure functions.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/record.h"
#include "base/result.h"

namespace nl::jobs {

enum class JobState : uint8_t { kQueued, kRunning, kDone, kFailed, kCancelled, kInterrupted };
std::span<const std::string_view> NamesOf(JobState state);
std::string_view NameOf(JobState state);
std::optional<JobState> StateOfName(std::string_view name);
// Nothing more happens to it.
bool IsOver(JobState state);
// May a job go from one state to the other?
bool MayBecome(JobState from, JobState to);

struct JobProgress {
  std::string what;
  int64_t done_bytes = 0;
  std::optional<int64_t> total_bytes;
};
void Describe(Record<JobProgress>& r);

// The members of a problem document that do not depend on HTTP.
struct JobError {
  std::string code, detail;
  std::optional<std::string> file;
  std::optional<int64_t> byte_offset;
  std::optional<std::string> hint;
};
void Describe(Record<JobError>& r);
JobError ErrorOf(const Error& error);
Error ToError(const JobError& error);

struct Job {
  std::string job_id;  // UUIDv7
  std::string op;
  std::string owner;  // "user:ada", "token:ci", "nobody" where no login is needed, "local" for commands
  Json params = Json::object();
  JobState state = JobState::kQueued;
  bool cancel_requested = false;
  int64_t attempts = 0;
  std::string created_at;  // RFC 3339, as are the next two
  std::optional<std::string> started_at, finished_at;
  std::optional<JobProgress> progress;
  std::optional<JobError> error;
  std::optional<int64_t> result_bytes;
  std::optional<std::string> result;
};
void Describe(Record<Job>& r);

Json ToJson(const Job& job);
// InvalidInput for what is not a job.
Result<Job> JobFromJson(const Json& json);

// Whether `actor` may cancel a job: its own, or any when `all`. An empty actor is a command on this machine.
Status CheckCancel(const Job& job, std::string_view actor, bool all);

// Which jobs a list has, newest first.
struct JobFilter {
  std::optional<JobState> state;
  int64_t offset = 0, limit = 50;  // limit 0: all
};

struct JobsReply {
  int64_t jobs_total = 0;
  std::optional<int64_t> next_offset;
  std::vector<Job> jobs;
};
void Describe(Record<JobsReply>& r);

// Jobs in the order they were made; the reply has the newest first.
JobsReply ListJobs(const std::vector<Job>& jobs, const JobFilter& filter);
// The job of this id, or of a unique beginning of it with 4 characters or more.
Result<Job> FindJob(const std::vector<Job>& jobs, std::string_view id);

}  // namespace nl::jobs
