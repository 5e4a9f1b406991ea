// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runner: runs jobs one after the other on a few threads and journals what becomes of them. It knows no
// operation: JobWork is how it asks for one.
//
// When a runner opens a journal in which jobs were running, the process ended before they did. A job that is
// safe to run twice is queued again, at most kMostAttempts times; any other is `interrupted`.
// Thread rule: any thread; callbacks come from the runner's threads and those that call it, without its lock
// held, one at a time and in the order of the changes.
// Ownership: the destructor stops it; work and callbacks must outlive it.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/journal.h"
#include "ops/op.h"
#include "serve/jobs/job_table.h"

namespace nl::jobs {

inline constexpr int64_t kMostAttempts = 3;

// What an operation answered: its reply as JSON, and as a person reads it.
struct JobOutput {
  std::string reply, text;
};

// The operations, as jobs use them. From any thread.
class JobWork {
 public:
  virtual ~JobWork() = default;
  // The operation exists and takes these parameters from this owner; else why not.
  virtual Status Check(const std::string& op, const Json& params, const std::string& owner) const = 0;
  // It may be run again after a crash.
  virtual bool MayRepeat(const std::string& op) const = 0;
  // `context` has the progress and the cancel flag.
  virtual Result<JobOutput> Run(const Job& job, OpContext& context) = 0;
};

struct RunnerOptions {
  std::string folder;  // of the jobs (job_files.h)
  size_t threads = 1;
  size_t most_active = 1000;              // queued and running; more are refused
  size_t most_finished = 1000;            // older ones are forgotten
  int64_t most_result_bytes = 256 << 20;  // of all results
  std::string result_prefix;              // what stands before ID/result where results are offered
  ClockFn now;                            // empty: the clock of the system
};

class Runner {
 public:
  // `changed`: a job has a new state, or (`state` false) progress.
  using ChangeFn = std::function<void(const Job& job, bool state)>;
  // Limit when another process runs the jobs of this folder.
  static Result<std::unique_ptr<Runner>> Open(RunnerOptions options, JobWork& work, ChangeFn changed);
  ~Runner();

  // The job is journalled when this returns.
  Result<Job> Submit(const std::string& op, const Json& params, const std::string& owner);
  Result<Job> Cancel(std::string_view job_id);
  std::vector<Job> All() const;
  Result<Job> Get(std::string_view job_id) const;

  // Gives running jobs `grace` to end, then cancels and journals them. Queued jobs stay queued.
  void Stop(std::chrono::milliseconds grace);
  size_t running() const;
  size_t queued() const;

 private:
  struct Active {
    std::atomic<bool> cancelled{false};
    std::chrono::steady_clock::time_point published{}, written{};  // of the last progress
  };
  struct Change {
    Job job;
    bool state = true;
  };
  Runner(RunnerOptions options, JobWork& work, ChangeFn changed);
  Status Recover();
  void Begin();
  void Work();
  void Watch();
  void TakeRequests();
  void TakeJob(const Job& wanted);
  void RunJob(Job job, const std::shared_ptr<Active>& active);
  void Report(const std::string& id, Active& active, JobProgress progress);
  Result<Job> EndOf(const Job& job, const Active& active, Result<JobOutput> output);
  Status KeepOutput(const std::string& job_id, const JobOutput& output) const;
  Result<Job> Cut(const std::string& job_id, const std::string& op);
  void Record(const Job& job);
  void Trim();
  void Tell();
  std::vector<Json> Records() const;

  const RunnerOptions options_;
  JobWork& work_;
  const ChangeFn changed_;
  std::unique_ptr<Journal> journal_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  JobTable table_;
  std::deque<std::string> queue_;
  std::unordered_map<std::string, std::shared_ptr<Active>> active_;
  std::deque<Change> changes_;  // that listeners have not seen
  bool telling_ = false;        // a thread is at it
  int64_t result_bytes_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace nl::jobs
