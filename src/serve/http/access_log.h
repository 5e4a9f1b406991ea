// SPDX-License-Identifier: Apache-2.0
#pragma once
// AccessLog: lines to standard error that never hold up the one who writes them. They wait in a bounded queue
// for a thread that writes them when the other end takes them; what does not fit is dropped and counted.
// Thread rule: Add from any thread. Ownership: the destructor writes what the other end takes within a
// second.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

namespace nl::http {

class AccessLog {
 public:
  // `fd` is not closed here. A line is written at once, so it must be shorter than PIPE_BUF (4096 bytes).
  explicit AccessLog(int fd, size_t most_lines = 4096);
  ~AccessLog();
  AccessLog(const AccessLog&) = delete;
  AccessLog& operator=(const AccessLog&) = delete;

  void Add(std::string line);
  int64_t dropped() const { return dropped_; }

 private:
  void Write();
  // Waits until the other end takes a line; false: it does not, and this stops.
  bool Ready();

  const int fd_;
  const size_t most_lines_;
  std::atomic<int64_t> dropped_{0};
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::string> lines_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace nl::http
