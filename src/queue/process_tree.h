// SPDX-License-Identifier: Apache-2.0
#pragma once
// The processes of one attempt. Each has the attempt's mark in its environment, or is in the session that the
// attempt began; both hold after the runner died, so the next runner finds and ends what was left.
// Thread rule: free functions; any thread.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_ops.h"
#include "base/result.h"

namespace nl::queue {

inline constexpr char kAttemptVariable[] = "NEUROLENS_QUEUE_ATTEMPT";

struct AttemptMark {
  std::string environment;     // "NEUROLENS_QUEUE_ATTEMPT=ID:2"
  pid_t session = 0;           // 0: not known
  uint64_t session_start = 0;  // of its first process, in clock ticks since boot
};

AttemptMark MarkOf(std::string_view entry_id, int64_t attempt);
bool BelongsTo(pid_t pid, const AttemptMark& mark);
// Those that live; not the ones that wait to be reaped.
std::vector<pid_t> ProcessesOf(const AttemptMark& mark);
// Those that have the file open, this process not counted.
std::vector<pid_t> ProcessesWithOpen(const std::string& path);
// Asks them to end, and ends them after `grace`. False when `keep_going` said no first.
bool EndProcesses(const AttemptMark& mark, std::chrono::milliseconds grace,
                  const std::function<bool()>& keep_going);

struct SpawnRequest {
  std::vector<std::string> arguments, environment;
  std::string working_folder, output_path;
  int kept_open = -1;  // the child inherits this descriptor
};
// Starts a program in a session of its own, looked for on the PATH of `environment`. Its error is a reason
// that a person understands: the program or the folder is missing, or may not be used.
Result<pid_t> SpawnInSession(const SpawnRequest& request);

// The session as a small file (not synced: it is worth nothing after a reboot), and back into the mark.
void WriteSession(const std::string& path, pid_t pid);
void ReadSession(const std::string& path, AttemptMark& mark);

// Name of a program by its process id; "" when it has ended.
std::string ProgramName(pid_t pid);

}  // namespace nl::queue
