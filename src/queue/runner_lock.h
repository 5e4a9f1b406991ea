// SPDX-License-Identifier: Apache-2.0
#pragma once
// RunnerLock: at most one runner per machine, whatever store it works on and whoever started it: a flock on
// one file, kept by the process and gone with it. No entry inherits it. Thread rule: one thread.

#include <string>

#include "base/file_ops.h"

namespace nl::queue {

// $NEUROLENS_QUEUE_LOCK, else neurolens-queue.lock in /run/lock, or in /tmp where that does not exist.
std::string RunnerLockPath();

class RunnerLock {
 public:
  // Limit when another runner works; the message has its process id where that is known.
  static Result<RunnerLock> Take(const std::string& path);

 private:
  explicit RunnerLock(UniqueFd file) : file_(std::move(file)) {}
  UniqueFd file_;
};

}  // namespace nl::queue
