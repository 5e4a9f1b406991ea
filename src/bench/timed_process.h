// SPDX-License-Identifier: Apache-2.0
#pragma once
// TimedProcess: one run of a command, measured from outside: wall time from before the start to the end, CPU
// time and peak memory from the system. Its output goes to memory files, so no reader competes with it for a
// CPU. It runs in a process group of its own; what is still running when the caller gives up is ended with
// it. Thread rule: one thread per object.
//
// Linux counts the memory of the process that calls exec() in the peak of the program. A start by posix_spawn
// is fastest, but then that is all of ours; after a fork it is our private memory alone. Hence two ways to
// start.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/file_ops.h"
#include "base/result.h"
#include "bench/command.h"

namespace nl::bench {

struct TimedRun {
  double wall_s = 0, user_s = 0, system_s = 0;
  // Null: not above this process's own, which Linux counts in.
  std::optional<int64_t> peak_rss_bytes;
  int status = 0;  // exit status; 128 + signal
};

enum class StartBy : uint8_t { kSpawn, kFork };

class TimedProcess {
 public:
  // Finds the program and makes the files of its output. NotFound when the program is missing.
  static Result<TimedProcess> Make(Command command);

  // One run. Cancelled when `keep_going` says no (asked ten times a second); the output of the last run
  // replaces that of the one before.
  Result<TimedRun> Run(const std::function<bool()>& keep_going, StartBy start = StartBy::kSpawn);

  const Command& command() const { return command_; }
  // Standard output of the last run; Limit above `max_bytes`.
  Result<std::string> Output(int64_t max_bytes) const;
  int64_t OutputBytes() const;
  // The last part of its standard error, for messages.
  std::string ErrorTail() const;

 private:
  Result<int> Spawn(char** argv) const;
  Result<int> Fork(char** argv) const;

  Command command_;
  std::string program_;  // file to execute
  UniqueFd out_, err_;
};

}  // namespace nl::bench
