// SPDX-License-Identifier: Apache-2.0
#pragma once
// Session: the queue, opened by the one process that runs entries. It has the runner lock and the journal,
// and every change of an entry goes through it: journal first, then queue.log. The engines (queue/local.h,
// queue/slurm.h) decide what to run. Thread rule: one thread.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/journal.h"
#include "queue/entry_table.h"
#include "queue/runner_lock.h"

namespace nl::queue {

enum class RunnerPhase : uint8_t { kIdle, kWaitingForGpu, kRunning, kFollowing, kImporting, kStopping };
std::span<const std::string_view> NamesOf(RunnerPhase phase);

// progress.json: what the runner does now.
struct RunnerProgress {
  int64_t pid = 0;
  std::string engine;
  RunnerPhase phase = RunnerPhase::kIdle;
  std::optional<std::string> entry_id, title, waiting_for;
  std::optional<int64_t> entry_pid;
  int64_t finished = 0, remaining = 0;
  double percent = 0;
  std::optional<double> eta_s;
  std::optional<std::string> eta_reason;
  int64_t gpu_looks = 0;
  bool overlap_seen = false;
  std::optional<std::string> gpu_problem;
  std::string updated_at;
};
void Describe(Record<RunnerProgress>& r);
// Nothing when no runner works on this queue.
std::optional<RunnerProgress> ReadProgress(const std::string& folder);
// A short text that differs when an entry, what the runner does or what its entry wrote may have changed:
// cheap, so that a server can look at it every second.
std::string QueueMark(const std::string& folder);

struct SessionOptions {
  std::string folder, lock_path;
  int64_t max_attempts = 1;
  bool stay = false;  // wait for more entries when none is left
  std::function<bool()> keep_going;
  // Imports these recordings of an entry: run ids. Empty: nothing is imported.
  std::function<Result<std::vector<std::string>>(const std::vector<std::string>& paths)> import;
  std::function<void(const RunnerProgress&)> report;  // may be empty
};

// Attempts that ended in this session, by how; `queued_again` are not counted elsewhere.
struct SessionTotals {
  int64_t attempts = 0, done = 0, failed = 0, cancelled = 0, interrupted = 0, queued_again = 0;
};
void Describe(Record<SessionTotals>& r);

class Session {
 public:
  // Limit when another runner works on this machine.
  static Result<std::unique_ptr<Session>> Open(SessionOptions options, std::string engine);
  ~Session();

  const SessionOptions& options() const { return options_; }
  const std::string& folder() const { return options_.folder; }
  EntryTable& table() { return table_; }
  const SessionTotals& totals() const { return totals_; }
  const std::string& problem() const { return problem_; }  // damaged records of the journal; empty: none

  Status TakeRequests();
  // Journals a change of the table that the log does not show.
  Status Keep(const Json& record) { return journal_->Append(record); }
  Status KeepAll(const std::vector<Json>& records) { return journal_->AppendAll(records); }
  Status Started(const Json& record, std::string_view entry_id);
  // Also imports what the entry recorded.
  Status Ended(const Json& record, std::string_view entry_id);

  // Wakes up for a request, for `fd` (-1: none) and after `most`. Not for anything else.
  void Wait(int fd, std::chrono::milliseconds most);
  // Fills in what the session knows and replaces progress.json.
  void Show(RunnerProgress progress);

 private:
  Session(SessionOptions options, std::string engine, RunnerLock lock)
      : options_(std::move(options)), engine_(std::move(engine)), lock_(std::move(lock)) {}
  Status Load();
  void Trim();
  Status Import(std::string_view entry_id);
  Status ImportMissed();

  const SessionOptions options_;
  const std::string engine_;
  RunnerLock lock_;
  std::unique_ptr<Journal> journal_;
  EntryTable table_;
  SessionTotals totals_;
  UniqueFd requests_watch_;
  std::string problem_;
  double finished_ms_ = 0;  // of the attempts that were measured
  int64_t measured_ = 0;
};

std::string NowRfc3339();

}  // namespace nl::queue
