// SPDX-License-Identifier: Apache-2.0
#include "serve/http/worker_pool.h"

#include <utility>

namespace nl::http {

WorkerPool::WorkerPool(size_t threads, size_t most_queued) : size_(threads), most_queued_(most_queued) {
  for (size_t i = 0; i < threads; ++i) workers_.emplace_back([this] { Work(); });
}

bool WorkerPool::Submit(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || queue_.size() >= most_queued_) return false;
    queue_.push_back(std::move(job));
  }
  wake_.notify_one();
  return true;
}

void WorkerPool::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
  workers_.clear();
}

size_t WorkerPool::queued() const {
  const std::lock_guard lock(mutex_);
  return queue_.size();
}

size_t WorkerPool::busy() const {
  const std::lock_guard lock(mutex_);
  return busy_;
}

void WorkerPool::Work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    std::function<void()> job = std::move(queue_.front());
    queue_.pop_front();
    ++busy_;
    lock.unlock();
    job();
    job = nullptr;  // what it holds is released before the worker counts as free
    lock.lock();
    --busy_;
  }
}

}  // namespace nl::http
