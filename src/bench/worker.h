// SPDX-License-Identifier: Apache-2.0
#pragma once
// Worker: a benchmark program that speaks the protocol: one JSON object per line, a request in, a reply out.
// It lives until this object ends, so that both sides of a pair are alive together.
// Thread rule: one thread. Owns the process and ends it with what it started.

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "base/file_ops.h"
#include "base/json.h"
#include "base/result.h"
#include "bench/command.h"

namespace nl::bench {

class Worker {
 public:
  // `environment`: "NAME=value", added to ours.
  static Result<Worker> Start(const Command& command, const std::vector<std::string>& environment);
  Worker(Worker&& other) noexcept;
  Worker& operator=(Worker&&) = delete;
  ~Worker();

  // The reply, without {"ok": true}. InvalidInput when the benchmark reports an error, ends, or answers
  // something that is not JSON; Limit after `timeout_s` without an answer; Cancelled when `keep_going` says
  // no.
  Result<Json> Ask(const Json& request, const std::function<bool()>& keep_going);

  void set_timeout_s(double seconds) { timeout_s_ = seconds; }

 private:
  Worker() = default;
  Result<std::string> ReadLine(const std::function<bool()>& keep_going);
  std::string ErrorTail() const;

  pid_t pid_ = -1;
  UniqueFd to_, from_, err_;
  std::string buffer_;
  double timeout_s_ = 600;
};

}  // namespace nl::bench
