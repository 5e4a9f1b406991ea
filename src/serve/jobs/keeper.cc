// SPDX-License-Identifier: Apache-2.0
#include "serve/jobs/keeper.h"

#include <algorithm>

#include "base/file_ops.h"
#include "ops/settings.h"
#include "serve/jobs/job_files.h"

namespace nl::jobs {

namespace {
constexpr auto kLookEvery = std::chrono::milliseconds(500);
}

Keeper::Keeper(const Settings& settings)
    : folder_(JobsFolder(settings.Get("store"))),
      ops_(AllOps()),
      uploads_(settings.Get("store")),
      work_(ops_, settings, &uploads_),
      thread_([this] { Look(); }) {}

Keeper::~Keeper() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

// Requests that nobody took, or jobs of a process that ended.
bool Keeper::HasWork() const {
  if (!PathExists(folder_) || Journal::IsOpen(folder_)) return false;
  const Result<std::vector<Job>> jobs = ReadJobs(folder_);
  return jobs.ok() &&
         std::any_of(jobs->begin(), jobs->end(), [](const Job& job) { return !IsOver(job.state); });
}

void Keeper::OpenRunner() {
  RunnerOptions options;
  options.folder = folder_;
  options.result_prefix = "/api/v1/jobs/";  // where a server of this store gives them
  const auto changed = [this](const Job& job, bool) {
    if (job.state != JobState::kDone) return;
    for (const std::string& id : UploadsOf(job.params)) static_cast<void>(uploads_.Remove(id));
  };
  Result<std::unique_ptr<Runner>> opened = Runner::Open(std::move(options), work_, changed);
  if (opened.ok()) runner_ = *std::move(opened);
}

void Keeper::Look() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    if (runner_ == nullptr && HasWork()) {
      OpenRunner();
    } else if (runner_ != nullptr && runner_->running() + runner_->queued() == 0 &&
               PendingRequests(folder_).empty()) {
      runner_.reset();  // what is left meanwhile is found by the next look
    }
    lock.lock();
    wake_.wait_for(lock, kLookEvery, [this] { return stopping_; });
  }
  lock.unlock();
  runner_.reset();
}

}  // namespace nl::jobs
