// SPDX-License-Identifier: Apache-2.0
#pragma once
// PerfEvents: samples of a process and of everything it starts, by perf_event_open: one counter of CPU
// time and one ring per core, inherited by children and threads. Gives user call chains, and what is
// needed to read them: mappings, forks, execs, exits. Times are CLOCK_MONOTONIC.
// Thread rule: one thread. Owns descriptors and rings.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

struct perf_event_header;

namespace nl::capture {

struct PerfEvent {
  enum class Kind { kSample, kMapping, kName, kFork, kExit };
  Kind kind = Kind::kSample;
  int64_t time_ns = 0;
  pid_t pid = 0, tid = 0;
  pid_t parent_pid = 0;  // kFork
  bool is_exec = false;  // kName: a new image runs
  uint16_t cpu = 0xffff;
  int64_t period_ns = 0;                           // kSample: CPU time it stands for
  std::vector<uint64_t> chain;                     // kSample: innermost first
  uint64_t start = 0, bytes = 0, file_offset = 0;  // kMapping
  std::string text;                                // kMapping: file; kName: name
};

class PerfEvents {
 public:
  PerfEvents() = default;
  ~PerfEvents();
  PerfEvents(const PerfEvents&) = delete;
  PerfEvents& operator=(const PerfEvents&) = delete;

  // Counts `pid` (not yet exec'ed) from its exec on when `on_exec`, else from SetEnabled(true) on. A sample
  // makes a descriptor readable at once when `at_once`, else a half-full ring does: every waking costs the
  // sampled core an interrupt to another one. False: why() says which permission is missing, in words
  // for the user.
  bool Open(pid_t pid, int rate_hz, bool on_exec, bool at_once);
  bool is_open() const { return !rings_.empty(); }
  // Time inside the kernel is sampled too (needs more permission).
  bool sees_kernel_time() const { return sees_kernel_time_; }
  const std::string& why() const { return why_; }

  // Descriptors that become readable when there is something to take.
  std::vector<int> descriptors() const;
  // Everything since the last call, in order of time.
  void Take(std::vector<PerfEvent>& events);
  // Samples the kernel could not put into a full ring, so far.
  uint64_t lost() const { return lost_; }
  // Off: no timer runs in the sampled program; forks, execs and mappings are not given either.
  void SetEnabled(bool on);

 private:
  struct Ring {
    int fd = -1;
    unsigned char* base = nullptr;
    size_t data_bytes = 0;
  };
  bool OpenOn(int cpu, pid_t pid, int& error);
  void TakeRing(Ring& ring, std::vector<PerfEvent>& events);
  void Decode(const unsigned char* record, size_t bytes, std::vector<PerfEvent>& events);
  void Explain(int error);

  std::vector<Ring> rings_;
  int rate_hz_ = 0;
  bool on_exec_ = false, at_once_ = true;
  std::vector<unsigned char> scratch_;
  std::string why_;
  bool sees_kernel_time_ = true;
  uint64_t lost_ = 0;
};

// /proc/sys/kernel/perf_event_paranoid; -2 when it cannot be read.
int PerfParanoid();

}  // namespace nl::capture
