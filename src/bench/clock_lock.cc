// SPDX-License-Identifier: Apache-2.0
#include "bench/clock_lock.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "base/json.h"
#include "bench/visible_gpus.h"

extern char** environ;

namespace nl::bench {

namespace {

constexpr int64_t kMostJournalBytes = 1 << 20;

std::string ClockJournalPath() {
  const char* given = std::getenv("NEUROLENS_CLOCK_LOCK");
  if (given != nullptr && given[0] != '\0') return given;
  return fmt::format("{}/neurolens-clocks-{}.lock", IsWritableDirectory("/run/lock") ? "/run/lock" : "/tmp",
                     geteuid());
}

// Invalid: cannot be opened, belongs to another user (who could name any GPU in it), or another process has
// it.
UniqueFd TakeClockJournal(const std::string& path, bool wait) {
  UniqueFd file(open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  struct stat info {};
  if (!file.valid() || fstat(file.get(), &info) != 0) return UniqueFd();
  if (!S_ISREG(info.st_mode) || info.st_uid != geteuid()) return UniqueFd();
  while (flock(file.get(), LOCK_EX | (wait ? 0 : LOCK_NB)) != 0) {
    if (errno != EINTR) return UniqueFd();
  }
  return file;
}

bool WriteClockJournal(int fd, const std::string& text) {
  return ftruncate(fd, 0) == 0 &&
         pwrite(fd, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()) && fsync(fd) == 0;
}

std::string JournalText(const std::vector<std::string>& uuids) {
  return DumpJson(Json{{"pid", getpid()}, {"gpus", uuids}}) + "\n";
}

// A journal that was cut names none: it is written whole before the first GPU is locked.
std::vector<std::string> JournalUuids(int journal) {
  std::vector<std::string> out;
  std::string text(kMostJournalBytes, '\0');
  const ssize_t n = pread(journal, text.data(), text.size(), 0);
  if (n <= 0) return out;
  text.resize(static_cast<size_t>(n));
  const Result<Json> json = ParseJson(text);
  if (!json.ok() || !json->is_object() || !json->contains("gpus") || !(*json)["gpus"].is_array()) return out;
  for (const Json& uuid : (*json)["gpus"]) {
    if (uuid.is_string()) out.push_back(uuid.get<std::string>());
  }
  return out;
}

struct Restored {
  int64_t gpus = 0;
  bool all = true;
};

// Restores the GPUs that the journal names and empties it.
Restored RestoreNamed(const machine::Nvml& nvml, int journal) {
  Restored out;
  const std::vector<std::string> uuids = JournalUuids(journal);
  for (const GpuHandle& gpu : uuids.empty() ? std::vector<GpuHandle>() : AllGpus(nvml)) {
    if (std::find(uuids.begin(), uuids.end(), gpu.uuid) == uuids.end()) continue;
    if (nvml.Call("nvmlDeviceResetGpuLockedClocks", gpu.handle) == 0)
      ++out.gpus;
    else
      out.all = false;
  }
  if (out.all) WriteClockJournal(journal, "");  // else the next process tries again
  return out;
}

int64_t RestoreLeft(bool wait) {
  const std::string path = ClockJournalPath();
  if (!PathExists(path)) return 0;
  const UniqueFd journal = TakeClockJournal(path, wait);
  struct stat info {};
  if (!journal.valid() || fstat(journal.get(), &info) != 0 || info.st_size == 0) return 0;
  machine::Nvml nvml;
  return nvml.Load().empty() ? RestoreNamed(nvml, journal.get()).gpus : 0;
}

unsigned ClockFor(const machine::Nvml& nvml, machine::NvmlHandle handle, int64_t mhz) {
  unsigned found = 0;
  if (mhz > 0) return static_cast<unsigned>(mhz);
  if (nvml.Call("nvmlDeviceGetDefaultApplicationsClock", handle, machine::kNvmlSmClock, &found) == 0)
    return found;
  return nvml.Call("nvmlDeviceGetMaxClockInfo", handle, machine::kNvmlSmClock, &found) == 0 ? found : 0;
}

Status SetOne(const machine::Nvml& nvml, const GpuHandle& gpu, int64_t mhz, std::optional<int64_t>& held) {
  const unsigned to = ClockFor(nvml, gpu.handle, mhz);
  if (to == 0) return NotFound("NVML gives neither a default nor a highest clock");
  const int code = nvml.Call("nvmlDeviceSetGpuLockedClocks", gpu.handle, to, to);
  if (code == machine::kNvmlNoPermission)
    return Unsupported("not permitted: locking clocks needs root, or a driver that allows it to users");
  if (code == machine::kNvmlMissing) return Unsupported("this NVML lacks nvmlDeviceSetGpuLockedClocks");
  if (code != 0)
    return Unsupported(fmt::format("the clock cannot be locked at {} MHz: {}", to, nvml.Why(code)));
  held = std::min<int64_t>(held.value_or(to), to);
  return {};
}

}  // namespace

Result<ClockLock> ClockLock::Hold(const std::string& asked, const std::vector<std::string>& guard) {
  ClockLock out;
  int64_t mhz = 0;
  const auto [end, error] = std::from_chars(asked.data(), asked.data() + asked.size(), mhz);
  const bool is_number = error == std::errc() && end == asked.data() + asked.size();
  if (!asked.empty() && asked != "default" && (!is_number || mhz < 1 || mhz > 100'000))
    return InvalidInput(fmt::format("--lock-clocks is a frequency in MHz or 'default', not '{}'", asked));
  RestoreLeftClocks();
  if (asked.empty()) return out;
  const Status held = out.Set(mhz, guard);
  if (!held.ok()) {
    out.reason_ = held.error().message;
    out.mhz_.reset();
    out.Restore();
  }
  return out;
}

Status ClockLock::Set(int64_t mhz, const std::vector<std::string>& guard) {
  if (const std::string why = nvml_.Load(); !why.empty()) return NotFound(why);
  const std::vector<GpuHandle> gpus = VisibleGpus(nvml_);
  if (gpus.empty()) return NotFound("NVML lists no GPU that is visible here");
  const std::string path = ClockJournalPath();
  journal_ = TakeClockJournal(path, false);
  if (!journal_.valid())
    return IoError(fmt::format("another process holds the clocks, or {} cannot be opened", path));
  std::vector<std::string> named, locked;
  for (const GpuHandle& gpu : gpus) {
    if (gpu.uuid.empty())
      return Unsupported(fmt::format("NVML gives no UUID of GPU {}, by which to restore it", gpu.index));
    named.push_back(gpu.uuid);
  }
  if (!WriteClockJournal(journal_.get(), JournalText(named)))
    return IoError(fmt::format("cannot write {}", path));
  Status done = StartGuard(guard);
  for (size_t i = 0; done.ok() && i < gpus.size(); ++i) {
    done = SetOne(nvml_, gpus[i], mhz, mhz_);
    if (done.ok()) locked.push_back(gpus[i].uuid);
  }
  // What was not locked here is not restored: it may be locked by somebody else.
  if (!done.ok()) WriteClockJournal(journal_.get(), locked.empty() ? "" : JournalText(locked));
  return done;
}

// The guard gets the other end as standard input; ours closes with this process, whatever ends it.
Status ClockLock::StartGuard(const std::vector<std::string>& command) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return IoError("cannot connect to the guard of the clocks", errno);
  guard_end_ = UniqueFd(ends[0]);
  const UniqueFd other_end(ends[1]);
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, other_end.get(), STDIN_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  // A session of its own: Ctrl-C and the end of the terminal are for us, not for it.
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  const int code = posix_spawn(&guard_pid_, command[0].c_str(), &actions, &attributes, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (code == 0) return {};
  guard_pid_ = -1;
  return IoError(fmt::format("cannot start {}", command[0]), code);
}

void ClockLock::Restore() {
  if (!journal_.valid()) return;
  const Restored restored = RestoreNamed(nvml_, journal_.get());
  journal_ = UniqueFd();
  if (guard_pid_ < 0) return;
  // Without the byte the guard tries once more; it may have to wait for another process then.
  const bool done = restored.all && send(guard_end_.get(), "d", 1, MSG_NOSIGNAL) == 1;
  guard_end_ = UniqueFd();
  while (done && waitpid(guard_pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  guard_pid_ = -1;
}

ClockLock::ClockLock(ClockLock&& other) noexcept
    : journal_(std::move(other.journal_)),
      guard_end_(std::move(other.guard_end_)),
      guard_pid_(std::exchange(other.guard_pid_, -1)),
      nvml_(other.nvml_),
      mhz_(std::exchange(other.mhz_, std::nullopt)),
      reason_(std::move(other.reason_)) {}

ClockLock::~ClockLock() { Restore(); }

int64_t RestoreLeftClocks() { return RestoreLeft(false); }

void RunClockGuard() {
  signal(SIGINT, SIG_IGN);
  signal(SIGTERM, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
  char byte = 0;
  ssize_t n = -1;
  do {
    n = read(STDIN_FILENO, &byte, 1);
  } while (n < 0 && errno == EINTR);
  if (n != 1) RestoreLeft(true);
}

}  // namespace nl::bench
