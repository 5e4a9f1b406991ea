// SPDX-License-Identifier: Apache-2.0
#pragma once
// WorkerPool: threads that run jobs from a bounded queue, first come first served.
// Thread rule: Submit and the counts from any thread; Stop once, from the owner.

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace nl::http {

class WorkerPool {
 public:
  WorkerPool(size_t threads, size_t most_queued);
  ~WorkerPool() { Stop(); }

  // False when the queue is full or the pool stops: the job is not taken.
  bool Submit(std::function<void()> job);
  // Runs what is queued, then ends the threads.
  void Stop();

  size_t queued() const;
  size_t busy() const;
  size_t threads() const { return size_; }

 private:
  void Work();

  const size_t size_, most_queued_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> queue_;
  size_t busy_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace nl::http
