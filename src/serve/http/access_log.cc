// SPDX-License-Identifier: Apache-2.0
#include "serve/http/access_log.h"

#include <poll.h>
#include <unistd.h>

namespace nl::http {

namespace {
constexpr int kLook_ms = 100;
constexpr int kLastLooks = 10;  // after the end was asked for
}  // namespace

AccessLog::AccessLog(int fd, size_t most_lines)
    : fd_(fd), most_lines_(most_lines), thread_([this] { Write(); }) {}

AccessLog::~AccessLog() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void AccessLog::Add(std::string line) {
  {
    const std::lock_guard lock(mutex_);
    if (lines_.size() >= most_lines_) {
      ++dropped_;
      return;
    }
    lines_.push_back(std::move(line));
  }
  wake_.notify_one();
}

// A pipe that is ready takes PIPE_BUF bytes without blocking.
bool AccessLog::Ready() {
  for (int looks = 0; looks < kLastLooks; looks += stopping_ ? 1 : 0) {
    pollfd out{fd_, POLLOUT, 0};
    if (poll(&out, 1, kLook_ms) > 0) return true;  // also on errors: write tells
  }
  return false;
}

void AccessLog::Write() {
  for (;;) {
    std::string line;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stopping_ || !lines_.empty(); });
      if (lines_.empty()) return;
    }
    if (!Ready()) return;
    {
      const std::lock_guard lock(mutex_);
      line = std::move(lines_.front());
      lines_.pop_front();
    }
    if (write(fd_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) ++dropped_;
  }
}

}  // namespace nl::http
