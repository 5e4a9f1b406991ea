// SPDX-License-Identifier: Apache-2.0
#include "serve/jobs/runner.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "base/file_ops.h"
#include "base/time_text.h"
#include "serve/jobs/job_files.h"

namespace nl::jobs {

namespace {

using Steady = std::chrono::steady_clock;
constexpr auto kLookForRequests = std::chrono::milliseconds(100);
constexpr auto kTellProgress = std::chrono::milliseconds(250),
               kWriteProgress = std::chrono::milliseconds(500);
constexpr int64_t kMostJournalBytes = 8 << 20;

void Complain(const Error& error) {
  const std::string line = fmt::format("neurolens: jobs: {}\n", error.ToString());
  static_cast<void>(!write(STDERR_FILENO, line.data(), line.size()));
}

JobError EndedWithServer() {
  return ErrorOf(Cancelled()
                     .With("the server ended while the job ran, and the operation changes the store")
                     .Hint("check what it did, and start it again if that is right"));
}

JobError EndedTooOften() {
  return ErrorOf(
      Internal(fmt::format("the server ended {} times while this job ran", kMostAttempts))
          .Hint("run the operation at the command line: the job may need more memory than there is"));
}

RunnerOptions WithClock(RunnerOptions options) {
  if (!options.now) options.now = [] { return Rfc3339Utc(UnixNowNs()); };
  return options;
}

// Removes files of a folder that belong to no job.
void Sweep(const std::string& folder, const JobTable& table, bool keep_finished) {
  std::error_code ec;
  std::vector<std::filesystem::path> gone;
  for (std::filesystem::directory_iterator it(folder, ec), end; !ec && it != end; it.increment(ec)) {
    const Job* job = table.Find(it->path().stem().string());
    if (job == nullptr || !keep_finished || job->state != JobState::kDone) gone.push_back(it->path());
  }
  for (const auto& path : gone) unlink(path.c_str());
}

}  // namespace

Runner::Runner(RunnerOptions options, JobWork& work, ChangeFn changed)
    : options_(WithClock(std::move(options))),
      work_(work),
      changed_(std::move(changed)),
      table_(options_.now) {}

Result<std::unique_ptr<Runner>> Runner::Open(RunnerOptions options, JobWork& work, ChangeFn changed) {
  std::unique_ptr<Runner> out(new Runner(std::move(options), work, std::move(changed)));
  const std::string& folder = out->options_.folder;
  NL_ASSIGN(out->journal_, Journal::Open(folder));
  NL_TRY(MakeDirectories(ResultsFolder(folder)));
  NL_TRY(MakeDirectories(folder + "/progress"));
  NL_TRY(MakeDirectories(folder + "/requests"));
  NL_TRY(out->Recover());
  out->Begin();
  return out;
}

// What ran when the last process ended is queued again or interrupted; then the journal is made short.
Status Runner::Recover() {
  NL_ASSIGN(const JournalContent content, Journal::Read(options_.folder));
  if (content.bad_lines > 0)
    Complain(Internal(fmt::format("{} damaged lines of the journal were left out", content.bad_lines)));
  table_.Load(content.records);
  for (const Job& job : table_.All()) {
    if (job.state == JobState::kRunning) static_cast<void>(Cut(job.job_id, job.op));
    const Job& now = *table_.Find(job.job_id);
    if (now.state == JobState::kQueued) queue_.push_back(now.job_id);
    result_bytes_ += now.result_bytes.value_or(0);
  }
  Sweep(ResultsFolder(options_.folder), table_, true);
  Sweep(options_.folder + "/progress", table_, false);
  // On a full disk the long journal remains, with what changed after it in memory.
  if (const Status made = journal_->Rewrite(Records()); !made.ok()) Complain(made.error());
  return {};
}

// The end of a process, not of the job.
Result<Job> Runner::Cut(const std::string& job_id, const std::string& op) {
  const Job& job = *table_.Find(job_id);
  if (job.cancel_requested) return table_.Move(job_id, JobState::kCancelled, ErrorOf(Cancelled()));
  if (!work_.MayRepeat(op)) return table_.Move(job_id, JobState::kInterrupted, EndedWithServer());
  if (job.attempts >= kMostAttempts) return table_.Move(job_id, JobState::kInterrupted, EndedTooOften());
  return table_.Move(job_id, JobState::kQueued);
}

void Runner::Begin() {
  for (size_t i = 0; i < options_.threads; ++i) threads_.emplace_back([this] { Work(); });
  threads_.emplace_back([this] { Watch(); });
}

Runner::~Runner() { Stop(std::chrono::milliseconds(0)); }

void Runner::Stop(std::chrono::milliseconds grace) {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  wake_.notify_all();
  wake_.wait_for(lock, grace, [this] { return active_.empty(); });
  for (auto& [id, active] : active_) active->cancelled = true;
  lock.unlock();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

std::vector<Json> Runner::Records() const {
  std::vector<Json> out;
  for (const auto& [order, job] : table_.jobs()) out.push_back(ToJson(job));
  return out;
}

// With the lock held. A change that cannot be recorded is not undone: after a restart the job runs again.
void Runner::Record(const Job& job) {
  if (const Status done = journal_->Append(ToJson(job)); !done.ok()) Complain(done.error());
  if (journal_->bytes() > kMostJournalBytes + static_cast<int64_t>(table_.size()) * 4096)
    static_cast<void>(journal_->Rewrite(Records()));
}

Result<Job> Runner::Submit(const std::string& op, const Json& params, const std::string& owner) {
  NL_TRY(work_.Check(op, params, owner));
  Job job;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return Limit("the server stops");
    if (queue_.size() + active_.size() >= options_.most_active)
      return Limit(fmt::format("{} jobs wait already", queue_.size())).Hint("wait for some of them to end");
    job = table_.Add(op, params, owner);
    if (Status written = journal_->Append(ToJson(job)); !written.ok()) {
      table_.Remove(job.job_id);
      return std::move(written).error();
    }
    queue_.push_back(job.job_id);
    changes_.push_back({job});
  }
  wake_.notify_all();
  Tell();
  return job;
}

// A job of a request has its id already. One that is wrong fails, as nobody waits for an answer.
void Runner::TakeJob(const Job& wanted) {
  const Status right = work_.Check(wanted.op, wanted.params, wanted.owner);
  Job job;
  {
    const std::lock_guard lock(mutex_);
    if (table_.Find(wanted.job_id) != nullptr) return;
    const bool full = queue_.size() + active_.size() >= options_.most_active;
    job = table_.Add(wanted.op, wanted.params, wanted.owner, wanted.job_id);
    if (!right.ok() || full) {
      const Error error = full ? Limit("too many jobs wait already") : right.error();
      job = *table_.Move(job.job_id, JobState::kFailed, ErrorOf(error));
    } else {
      queue_.push_back(job.job_id);
    }
    Record(job);
    changes_.push_back({job});
  }
  wake_.notify_all();
  Tell();
}

Result<Job> Runner::Cancel(std::string_view job_id) {
  Job job;
  {
    const std::lock_guard lock(mutex_);
    const Job* before = table_.Find(job_id);
    const bool over = before != nullptr && IsOver(before->state);
    NL_ASSIGN(job, table_.Cancel(job_id));
    if (over) return job;
    Record(job);
    queue_.erase(std::remove(queue_.begin(), queue_.end(), job.job_id), queue_.end());
    if (const auto it = active_.find(job.job_id); it != active_.end()) it->second->cancelled = true;
    if (IsOver(job.state)) Trim();
    changes_.push_back({job});
  }
  Tell();
  return job;
}

std::vector<Job> Runner::All() const {
  const std::lock_guard lock(mutex_);
  return table_.All();
}

Result<Job> Runner::Get(std::string_view job_id) const {
  {
    const std::lock_guard lock(mutex_);
    if (const Job* job = table_.Find(job_id)) return *job;
  }
  return FindJob(All(), job_id);
}

size_t Runner::running() const {
  const std::lock_guard lock(mutex_);
  return active_.size();
}

size_t Runner::queued() const {
  const std::lock_guard lock(mutex_);
  return queue_.size();
}

void Runner::Watch() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    TakeRequests();
    lock.lock();
    wake_.wait_for(lock, kLookForRequests, [this] { return stopping_; });
  }
}

void Runner::TakeRequests() {
  for (const JobRequest& request : PendingRequests(options_.folder)) {
    if (request.add)
      TakeJob(*request.add);
    else
      static_cast<void>(Cancel(request.cancel));
    unlink(request.path.c_str());
  }
}

void Runner::Work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (stopping_) return;
    const std::string id = queue_.front();
    queue_.pop_front();
    const Result<Job> started = table_.Move(id, JobState::kRunning);
    if (!started.ok()) continue;
    const auto active = std::make_shared<Active>();
    active_[id] = active;
    Record(*started);
    changes_.push_back({*started});
    lock.unlock();
    Tell();
    RunJob(*started, active);
    lock.lock();
  }
}

void Runner::RunJob(Job job, const std::shared_ptr<Active>& active) {
  OpContext context;
  context.cancelled = &active->cancelled;
  context.remote = true;
  context.progress = [&](std::string_view what, int64_t done, int64_t total) {
    JobProgress progress{std::string(what), done, {}};
    if (total > 0) progress.total_bytes = total;
    Report(job.job_id, *active, std::move(progress));
  };
  Result<JobOutput> output = work_.Run(job, context);
  if (output.ok()) {
    if (Status kept = KeepOutput(job.job_id, *output); !kept.ok()) output = std::move(kept).error();
  }
  {
    const std::lock_guard lock(mutex_);
    const Result<Job> ended = EndOf(job, *active, std::move(output));
    NL_CHECK(ended.ok());
    job = *ended;
    Record(job);
    active_.erase(job.job_id);
    unlink(ProgressPath(options_.folder, job.job_id).c_str());
    Trim();
    changes_.push_back({job});
  }
  wake_.notify_all();
  Tell();
}

// The result before its record: a record that the journal has is never without its result.
Status Runner::KeepOutput(const std::string& job_id, const JobOutput& output) const {
  if (static_cast<int64_t>(output.reply.size()) > options_.most_result_bytes)
    return Limit(fmt::format("the result has more than {} bytes", options_.most_result_bytes));
  NL_TRY(WriteFileAtomically(ResultTextPath(options_.folder, job_id), output.text));
  return WriteFileAtomically(ResultPath(options_.folder, job_id), output.reply);
}

// What became of a job whose operation returned. A cancel that came too late leaves it done.
Result<Job> Runner::EndOf(const Job& job, const Active& active, Result<JobOutput> output) {
  if (output.ok()) {
    const auto bytes = static_cast<int64_t>(output->reply.size());
    result_bytes_ += bytes;
    return table_.Finish(job.job_id, bytes, fmt::format("{}{}/result", options_.result_prefix, job.job_id));
  }
  const bool stopped = output.error().code == ErrorCode::kCancelled && active.cancelled;
  if (stopped && table_.Find(job.job_id)->cancel_requested)
    return table_.Move(job.job_id, JobState::kCancelled, ErrorOf(Cancelled()));
  if (stopped && stopping_) {
    table_.ForgetAttempt(job.job_id);
    return Cut(job.job_id, job.op);
  }
  return table_.Move(job.job_id, JobState::kFailed, ErrorOf(output.error()));
}

void Runner::Report(const std::string& id, Active& active, JobProgress progress) {
  const auto now = Steady::now();
  {
    const std::lock_guard lock(mutex_);
    table_.SetProgress(id, progress);
    if (now - active.written >= kWriteProgress) {
      active.written = now;
      WriteProgress(options_.folder, id, progress);
    }
    if (now - active.published < kTellProgress) return;
    active.published = now;
    changes_.push_back({*table_.Find(id), false});
  }
  Tell();
}

// One thread at a time reports changes; another one that finds it at work leaves its own to it. If each
// reported for itself, a job could be queued after it was done.
void Runner::Tell() {
  std::unique_lock lock(mutex_);
  if (telling_) return;
  telling_ = true;
  while (!changes_.empty()) {
    const Change change = std::move(changes_.front());
    changes_.pop_front();
    lock.unlock();
    changed_(change.job, change.state);
    lock.lock();
  }
  telling_ = false;
}

// With the lock held: forgets the oldest jobs that are over, with their results.
void Runner::Trim() {
  size_t finished = table_.size() - queue_.size() - active_.size();
  std::vector<std::string> gone;
  int64_t bytes = result_bytes_;
  for (const auto& [order, job] : table_.jobs()) {
    if (finished <= options_.most_finished && bytes <= options_.most_result_bytes) break;
    if (!IsOver(job.state)) continue;
    gone.push_back(job.job_id);
    bytes -= job.result_bytes.value_or(0);
    --finished;
  }
  for (const std::string& id : gone) {
    if (const Status written = journal_->Append(JobTable::RemovalRecord(id)); !written.ok())
      return Complain(written.error());
    result_bytes_ -= table_.Find(id)->result_bytes.value_or(0);
    table_.Remove(id);
    unlink(ResultPath(options_.folder, id).c_str());
    unlink(ResultTextPath(options_.folder, id).c_str());
  }
}

}  // namespace nl::jobs
