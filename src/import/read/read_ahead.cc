// SPDX-License-Identifier: Apache-2.0
#include "import/read/read_ahead.h"

namespace nl {

ReadAhead::ReadAhead(ByteSource& source, size_t piece_bytes)
    : source_(source), piece_bytes_(piece_bytes), thread_([this] { Loop(); }) {}

ReadAhead::~ReadAhead() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void ReadAhead::Loop() {
  for (bool more = true; more;) {
    std::string piece;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stop_ || ready_.size() < kAhead; });
      if (stop_) return;
      if (!spare_.empty()) {
        piece = std::move(spare_.back());
        spare_.pop_back();
      }
    }
    piece.resize(piece_bytes_);
    Result<size_t> n = source_.Read(piece.data(), piece.size());
    std::lock_guard lock(mutex_);
    if (!n.ok()) failure_ = std::move(n).error();
    more = !failure_ && *n == piece_bytes_;
    if (!failure_ && *n > 0) {
      piece.resize(*n);
      ready_.push_back(std::move(piece));
    }
    ended_ = !more;
    changed_.notify_all();
  }
}

Result<bool> ReadAhead::Next(std::string& to) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !ready_.empty() || ended_; });
  if (ready_.empty()) {
    if (failure_) return *failure_;
    return false;
  }
  if (to.capacity() >= piece_bytes_) spare_.push_back(std::move(to));
  to = std::move(ready_.front());
  ready_.pop_front();
  changed_.notify_all();
  return true;
}

}  // namespace nl
