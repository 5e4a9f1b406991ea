// SPDX-License-Identifier: Apache-2.0
#pragma once
// What /proc says about the recorded processes: their children, threads, mappings and what a thread
// does now. Everything may vanish between two reads: an empty or false answer means "gone".
// Thread rule: functions without state; ThreadProbe belongs to one thread and owns its descriptor.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nl::capture {

// Reads a small file whole, up to `max_bytes`; empty when it cannot be.
std::string ReadSmallFile(const std::string& path, size_t max_bytes = 1 << 16);

struct Mapping {
  uint64_t start = 0, end = 0, file_offset = 0;
  bool executable = false;
  std::string path;  // empty: anonymous
};
std::vector<Mapping> ReadMappings(pid_t pid);
std::vector<Mapping> ParseMappings(std::string_view text);
// The mapping holding `address`; `mappings` are in order of address.
const Mapping* FindMapping(const std::vector<Mapping>& mappings, uint64_t address);

std::vector<pid_t> ThreadsOf(pid_t pid);
// Every live descendant of `root`, itself included, by the parents that /proc names.
std::vector<pid_t> ProcessTree(pid_t root);
std::string ThreadName(pid_t pid, pid_t tid);
std::vector<std::string> ArgumentsOf(pid_t pid);
// A command line as records hold it.
std::string JsonList(const std::vector<std::string>& words);

// State letter and parent of /proc/PID/stat (the name in it may hold anything, also brackets).
struct StatLine {
  char state = '?';
  pid_t parent = 0;
  uint64_t start_ticks = 0;  // since boot: with the pid, names one process for good
  uint64_t cpu_ticks = 0;    // user and system time
};
std::optional<StatLine> ParseStat(std::string_view text);
std::optional<StatLine> ReadStat(pid_t pid, pid_t tid);

// What a blocked thread waits in: system call number, its first argument, the return address.
struct WaitPlace {
  int64_t call = -1;
  uint64_t first_argument = 0;
  uint64_t stack = 0, address = 0;
};
// Nothing while it runs (`runs` is set then), or where the kernel does not say.
std::optional<WaitPlace> ReadWaitPlace(pid_t pid, pid_t tid, bool* runs = nullptr);
std::optional<WaitPlace> ParseWaitPlace(std::string_view text);
// "futex", "poll", ... of the calls threads wait in; "call 123" otherwise.
std::string CallName(int64_t call);

// Whether a thread ran since it was last asked: one read of a descriptor kept open.
class ThreadProbe {
 public:
  ThreadProbe(pid_t pid, pid_t tid, bool keep_open);
  ~ThreadProbe();
  ThreadProbe(ThreadProbe&& other) noexcept;
  ThreadProbe& operator=(ThreadProbe&&) = delete;

  struct Reading {
    bool alive = false;
    bool ran = false;           // since the last reading
    uint64_t ran_ns = 0;        // time on a CPU since the last reading
    uint64_t queued_ns = 0;     // time ready to run without a CPU since then; counted once it runs
    bool has_schedstat = true;  // false: the kernel does not keep it, `ran` is always true
  };
  Reading Take();

 private:
  std::string path_;
  int fd_ = -1;
  bool keep_open_;
  uint64_t run_ns_ = 0, queued_ns_ = 0, slices_ = 0;
};

}  // namespace nl::capture
