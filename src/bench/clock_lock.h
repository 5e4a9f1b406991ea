// SPDX-License-Identifier: Apache-2.0
#pragma once
// ClockLock: holds the SM clock of the visible GPUs at one frequency (NVML) and restores them, however the
// process ends:
// - by itself, when the object goes;
// - by a guard, a process that waits for the end of this one, also by kill -9; it changes clocks and nothing
// else;
// - by the next `bench run`, `prove` or `queue run`, if the guard was killed too.
// The journal names the GPUs before they are locked. It is $NEUROLENS_CLOCK_LOCK, or
// /run/lock/neurolens-clocks-UID.lock (in /tmp where that folder cannot be written); the process of this user
// that has it locked (flock) may change clocks, and only GPUs that it names are restored. A journal of
// another user is ignored. NVML does not report a lock that somebody else has set: restoring removes that one
// too. Thread rule: one thread. Owns the lock of the journal and the guard.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/file_ops.h"
#include "base/result.h"
#include "machine/nvml_library.h"

namespace nl::bench {

class ClockLock {
 public:
  // `asked`: "" does nothing; "default": the default application clock of each GPU, or its highest one; or
  // MHz. `guard`: the command that runs RunClockGuard() with its standard input from us. InvalidInput for
  // another word; what the machine does not permit is a reason, not an error.
  static Result<ClockLock> Hold(const std::string& asked, const std::vector<std::string>& guard);
  ClockLock(ClockLock&& other) noexcept;
  ClockLock& operator=(ClockLock&&) = delete;
  ~ClockLock();

  // None: not held. GPUs of different kinds with "default": the lowest.
  std::optional<int64_t> mhz() const { return mhz_; }
  // Why it is not held, if it was asked for.
  const std::optional<std::string>& reason() const { return reason_; }

 private:
  ClockLock() = default;
  Status Set(int64_t mhz, const std::vector<std::string>& guard);
  Status StartGuard(const std::vector<std::string>& command);
  void Restore();

  UniqueFd journal_, guard_end_;
  pid_t guard_pid_ = -1;
  machine::Nvml nvml_;
  std::optional<int64_t> mhz_;
  std::optional<std::string> reason_;
};

// Restores what a process that is gone left locked: the number of GPUs. Does nothing while another process
// holds clocks.
int64_t RestoreLeftClocks();

// What the guard does: waits until standard input ends, then restores what is left; a byte there means that
// nothing is.
void RunClockGuard();

}  // namespace nl::bench
