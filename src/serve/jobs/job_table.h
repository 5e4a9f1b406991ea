// SPDX-License-Identifier: Apache-2.0
#pragma once
// JobTable: the jobs in memory, in the order they were made, and what may happen to them. It does no input
// or output: each change gives the job as the journal must record it. The order does not depend on the clock,
// which may step back.
// Thread rule: one thread at a time.

#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "serve/jobs/job.h"

namespace nl::jobs {

// The time now as RFC 3339.
using ClockFn = std::function<std::string()>;

class JobTable {
 public:
  explicit JobTable(ClockFn now) : now_(std::move(now)) {}

  // Records of a journal: the last one of each job counts.
  void Load(const std::vector<Json>& records);

  const Job& Add(std::string op, Json params, std::string owner, std::string job_id = "");
  // Null when there is none.
  const Job* Find(std::string_view job_id) const;
  // InvalidInput when its state does not allow that; the job as it is then.
  Result<Job> Move(std::string_view job_id, JobState to, const std::optional<JobError>& error = {});
  Result<Job> Finish(std::string_view job_id, int64_t result_bytes, std::string result);
  // A queued job is cancelled; a running one is marked. A job that is over stays as it is.
  Result<Job> Cancel(std::string_view job_id);
  void SetProgress(std::string_view job_id, JobProgress progress);
  // Undoes the count of an attempt that the end of the server cut short.
  void ForgetAttempt(std::string_view job_id);
  void Remove(std::string_view job_id);
  // The record that makes Load forget a job.
  static Json RemovalRecord(std::string_view job_id);

  size_t size() const { return jobs_.size(); }
  std::vector<Job> All() const;
  const std::map<int64_t, Job>& jobs() const { return jobs_; }

 private:
  Job* FindMutable(std::string_view job_id);

  ClockFn now_;
  int64_t last_ = 0;
  std::map<int64_t, Job> jobs_;  // by the order they were made in
  std::unordered_map<std::string, int64_t> order_of_;
};

}  // namespace nl::jobs
