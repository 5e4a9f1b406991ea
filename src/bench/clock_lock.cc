// SPDX-License-Identifier: Apache-2.0
#include "bench/clock_lock.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "base/json.h"
#include "base/run_program.h"

extern char** environ;

namespace nl::bench {

namespace {

constexpr int64_t kMostJournalBytes = 1 << 20;

std::string ClockJournalPath() {
  const char* given = std::getenv("NEUROLENS_CLOCK_LOCK");
  if (given != nullptr && given[0] != '\0') return given;
  return IsWritableDirectory("/run/lock") ? "/run/lock/neurolens-clocks.lock" : "/tmp/neurolens-clocks.lock";
}

// Invalid: not to be opened, or another process has it.
UniqueFd TakeClockJournal(const std::string& path, bool wait) {
  UniqueFd file(open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) return file;
  while (flock(file.get(), LOCK_EX | (wait ? 0 : LOCK_NB)) != 0) {
    if (errno != EINTR) return UniqueFd();
  }
  return file;
}

bool WriteClockJournal(int fd, const std::string& text) {
  return ftruncate(fd, 0) == 0 &&
         pwrite(fd, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()) && fsync(fd) == 0;
}

std::string UuidOf(const machine::Nvml& nvml, machine::NvmlHandle handle) {
  char text[machine::kNvmlTextBytes] = {};
  const int code = nvml.Call("nvmlDeviceGetUUID", handle, static_cast<char*>(text), machine::kNvmlTextBytes);
  return code == 0 ? text : "";
}

std::vector<machine::NvmlHandle> HandlesOf(const machine::Nvml& nvml) {
  std::vector<machine::NvmlHandle> out;
  unsigned count = 0;
  if (nvml.Call("nvmlDeviceGetCount_v2", &count) != 0) return out;
  for (unsigned i = 0; i < count; ++i) {
    machine::NvmlHandle handle = nullptr;
    if (nvml.Call("nvmlDeviceGetHandleByIndex_v2", i, &handle) == 0) out.push_back(handle);
  }
  return out;
}

// Restores the GPUs that the journal names and empties it; the number of GPUs.
int64_t RestoreNamed(const machine::Nvml& nvml, int journal) {
  std::string text(kMostJournalBytes, '\0');
  const ssize_t n = pread(journal, text.data(), text.size(), 0);
  if (n <= 0) return 0;
  text.resize(static_cast<size_t>(n));
  const Result<Json> json = ParseJson(text);
  const bool readable =
      json.ok() && json->is_object() && json->contains("gpus") && (*json)["gpus"].is_array();
  int64_t restored = 0;
  bool all = true;
  for (const machine::NvmlHandle handle : HandlesOf(nvml)) {
    // A journal that was cut names none: then every GPU may be meant.
    bool named = !readable;
    if (readable) {
      for (const Json& uuid : (*json)["gpus"]) named = named || uuid == UuidOf(nvml, handle);
    }
    if (!named) continue;
    if (nvml.Call("nvmlDeviceResetGpuLockedClocks", handle) == 0)
      ++restored;
    else
      all = false;
  }
  if (all) WriteClockJournal(journal, "");  // else the next process tries again
  return restored;
}

// The guard gets the read end as standard input; ours closes with this process, whatever ends it.
Result<UniqueFd> StartClockGuard(const std::vector<std::string>& command) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return IoError("cannot make a pipe");
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, read_end.get(), STDIN_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  // A session of its own: Ctrl-C and the end of the terminal are for us, not for it.
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  pid_t pid = -1;
  const int code = posix_spawn(&pid, command[0].c_str(), &actions, &attributes, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (code != 0) return IoError(fmt::format("cannot start {}", command[0]), code);
  return write_end;
}

int64_t ClockFor(const machine::Nvml& nvml, machine::NvmlHandle handle, int64_t mhz) {
  unsigned found = 0;
  if (mhz > 0) return mhz;
  if (nvml.Call("nvmlDeviceGetDefaultApplicationsClock", handle, machine::kNvmlSmClock, &found) == 0)
    return found;
  return nvml.Call("nvmlDeviceGetMaxClockInfo", handle, machine::kNvmlSmClock, &found) == 0 ? found : 0;
}

}  // namespace

Result<ClockLock> ClockLock::Hold(const std::string& asked, const std::vector<std::string>& guard) {
  ClockLock out;
  RestoreLeftClocks();
  if (asked.empty()) return out;
  int64_t mhz = 0;
  const auto [end, error] = std::from_chars(asked.data(), asked.data() + asked.size(), mhz);
  const bool is_number = error == std::errc() && end == asked.data() + asked.size();
  if (asked != "default" && (!is_number || mhz < 1 || mhz > 100'000))
    return InvalidInput(fmt::format("--lock-clocks is a frequency in MHz or 'default', not '{}'", asked));
  const Status held = out.Set(mhz, guard);
  if (!held.ok()) {
    out.reason_ = held.error().message;
    out.mhz_.reset();
  }
  return out;
}

Status ClockLock::Set(int64_t mhz, const std::vector<std::string>& guard) {
  if (const std::string why = nvml_.Load(); !why.empty()) return NotFound(why);
  const std::vector<machine::NvmlHandle> handles = HandlesOf(nvml_);
  if (handles.empty()) return NotFound("NVML lists no GPU");
  const std::string path = ClockJournalPath();
  journal_ = TakeClockJournal(path, false);
  if (!journal_.valid())
    return IoError(fmt::format("another process holds the clocks, or {} cannot be opened", path));
  Json gpus = Json::array();
  for (const machine::NvmlHandle handle : handles) gpus.push_back(UuidOf(nvml_, handle));
  if (!WriteClockJournal(journal_.get(), DumpJson(Json{{"pid", getpid()}, {"gpus", gpus}}) + "\n"))
    return IoError(fmt::format("cannot write {}", path));
  NL_ASSIGN(guard_pipe_, StartClockGuard(guard));
  for (const machine::NvmlHandle handle : handles) {
    const auto to = static_cast<unsigned>(ClockFor(nvml_, handle, mhz));
    if (to == 0) return NotFound("NVML gives neither a default nor a highest clock");
    const int code = nvml_.Call("nvmlDeviceSetGpuLockedClocks", handle, to, to);
    if (code == machine::kNvmlNoPermission)
      return Unsupported("not permitted: locking clocks needs root, or a driver that allows it to users");
    if (code == machine::kNvmlMissing) return Unsupported("this NVML lacks nvmlDeviceSetGpuLockedClocks");
    if (code != 0)
      return Unsupported(fmt::format("the clock cannot be locked at {} MHz: {}", to, nvml_.Why(code)));
    mhz_ = to;
  }
  return {};
}

ClockLock::ClockLock(ClockLock&& other) noexcept
    : journal_(std::move(other.journal_)),
      guard_pipe_(std::move(other.guard_pipe_)),
      nvml_(other.nvml_),
      mhz_(std::exchange(other.mhz_, std::nullopt)),
      reason_(std::move(other.reason_)) {}

// Also after a Set that failed half way: some GPUs may be locked then.
ClockLock::~ClockLock() {
  if (journal_.valid()) RestoreNamed(nvml_, journal_.get());
}

int64_t RestoreLeftClocks() {
  const std::string path = ClockJournalPath();
  if (!PathExists(path)) return 0;
  const UniqueFd journal = TakeClockJournal(path, false);
  struct stat info {};
  if (!journal.valid() || fstat(journal.get(), &info) != 0 || info.st_size == 0) return 0;
  machine::Nvml nvml;
  return nvml.Load().empty() ? RestoreNamed(nvml, journal.get()) : 0;
}

void RunClockGuard() {
  signal(SIGINT, SIG_IGN);
  signal(SIGTERM, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
  char byte = 0;
  for (ssize_t n = 1; n > 0 || (n < 0 && errno == EINTR);) n = read(STDIN_FILENO, &byte, 1);
  RestoreLeftClocks();
}

}  // namespace nl::bench
