// SPDX-License-Identifier: Apache-2.0
#include "analyze/pass_runner.h"

#include <algorithm>
#include <future>
#include <thread>

#include "analyze/async_policy.h"

namespace nl {

namespace {

constexpr size_t kMostThreads = 4;  // the longest chain of passes takes half of the time

}  // namespace

// How many tasks need it, directly or not; marks them.
size_t PassRunner::CountNeeds(size_t task, std::vector<bool>& seen) const {
  size_t count = 0;
  for (size_t i = 0; i < tasks_.size(); ++i) {
    const std::vector<std::string>& needs = tasks_[i].info.needs;
    if (seen[i] || std::find(needs.begin(), needs.end(), tasks_[task].info.name) == needs.end()) continue;
    seen[i] = true;
    count += 1 + CountNeeds(i, seen);
  }
  return count;
}

Status PassRunner::Run(const std::vector<const Pass*>& passes) {
  for (const Pass* pass : passes) {
    PassInfo info = pass->Info();
    if (!facts_.Has(info.name)) tasks_.push_back({pass, std::move(info)});
  }
  for (size_t i = 0; i < tasks_.size(); ++i) {
    std::vector<bool> seen(tasks_.size());
    tasks_[i].needed_by = CountNeeds(i, seen);
  }
  unstarted_ = tasks_.size();
  const size_t threads =
      std::min({static_cast<size_t>(std::thread::hardware_concurrency()), kMostThreads, tasks_.size()});
  std::vector<std::future<void>> others;
  for (size_t i = 1; i < threads; ++i) others.push_back(std::async(kAsyncOrDeferred, [this] { Work(); }));
  Work();
  for (std::future<void>& other : others) other.get();
  return status_;
}

// The task that most others wait for, of those whose needs are met.
PassRunner::Task* PassRunner::NextTask() {
  Task* best = nullptr;
  for (Task& task : tasks_) {
    const bool ready =
        !task.started && std::all_of(task.info.needs.begin(), task.info.needs.end(),
                                     [this](const std::string& need) { return facts_.Has(need); });
    if (ready && (best == nullptr || task.needed_by > best->needed_by)) best = &task;
  }
  return best;
}

void PassRunner::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    Task* task = nullptr;
    changed_.wait(lock, [&] { return Over() || (task = NextTask()) != nullptr; });
    if (Over()) return;
    if (options_.cancelled != nullptr && options_.cancelled->load(std::memory_order_relaxed)) {
      status_ = Cancelled();
      changed_.notify_all();
      return;
    }
    task->started = true;
    --unstarted_;
    FactBoard board = facts_;
    lock.unlock();
    const Status status = task->pass->Run(*PassData(columns_, task->info), options_, board);
    lock.lock();
    if (status.ok()) {
      facts_.Take(task->info.name, board);
    } else if (status_.ok()) {
      status_ = status;
    }
    changed_.notify_all();
  }
}

}  // namespace nl
