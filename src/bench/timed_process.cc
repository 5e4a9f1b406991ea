// SPDX-License-Identifier: Apache-2.0
#include "bench/timed_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>

#include <fmt/format.h>

#include "base/run_program.h"

extern char** environ;

namespace nl::bench {

namespace {

constexpr int kPollMs = 100;
constexpr auto kProcessGrace = std::chrono::seconds(3);  // between asking a program to end and ending it
constexpr off_t kErrorTailBytes = 2000;

int64_t ClockNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

double Seconds(const timeval& t) {
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
}

Result<UniqueFd> MemoryFile(const char* name) {
  UniqueFd fd(memfd_create(name, MFD_CLOEXEC));
  if (!fd.valid()) return IoError("cannot make a file in memory");
  return fd;
}

Status Empty(const UniqueFd& fd) {
  if (ftruncate(fd.get(), 0) != 0 || lseek(fd.get(), 0, SEEK_SET) < 0)
    return IoError("cannot empty a file in memory");
  return {};
}

// A pidfd wakes the poll at the end of the process. Before Linux 5.3 the wait is a plain one.
UniqueFd OpenPidFd(pid_t child) { return UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, child, 0))); }

}  // namespace

Result<TimedProcess> TimedProcess::Make(Command command) {
  TimedProcess out;
  std::string name = command.words[0];
  const bool relative = name.find('/') != std::string::npos && name[0] != '/';
  if (relative && !command.directory.empty()) name = command.directory + "/" + name;
  out.program_ = FindProgram(name);
  if (out.program_.empty())
    return NotFound(fmt::format("cannot run '{}': no such program", command.words[0]))
        .Hint("the command is run without a shell; a path or a name on PATH comes first");
  if (relative && !command.directory.empty()) out.program_ = command.words[0];
  out.command_ = std::move(command);
  NL_ASSIGN(out.out_, MemoryFile("stdout"));
  NL_ASSIGN(out.err_, MemoryFile("stderr"));
  return out;
}

// Between fork and exec: calls that are safe there only.
Result<int> TimedProcess::Fork(char** argv) const {
  const int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
  const pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);
    signal(SIGPIPE, SIG_DFL);
    const bool ready = (command_.directory.empty() || chdir(command_.directory.c_str()) == 0) &&
                       dup2(input, STDIN_FILENO) >= 0 && dup2(out_.get(), STDOUT_FILENO) >= 0 &&
                       dup2(err_.get(), STDERR_FILENO) >= 0;
    if (ready) execve(program_.c_str(), argv, environ);
    _exit(127);
  }
  close(input);
  if (child < 0) return IoError("cannot start a process");
  return child;
}

Result<int> TimedProcess::Spawn(char** argv) const {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  if (!command_.directory.empty()) posix_spawn_file_actions_addchdir_np(&actions, command_.directory.c_str());
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out_.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err_.get(), STDERR_FILENO);
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);  // ignored here; a program expects to be ended by it
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setpgroup(&attributes, 0);
  pid_t child = -1;
  const int code = posix_spawn(&child, program_.c_str(), &actions, &attributes, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (code != 0) return IoError(fmt::format("cannot start {}", program_), code);
  return child;
}

// Memory of this process that a child has too when it calls exec().
static int64_t InheritedBytes(StartBy start) {
  rusage own{};
  getrusage(RUSAGE_SELF, &own);
  const int64_t all = own.ru_maxrss * 1024;
  if (start == StartBy::kSpawn) return all;
  const Result<std::string> status = ReadWholeFile("/proc/self/status", 1 << 20);
  const size_t at = status.ok() ? status->find("RssAnon:") : std::string::npos;
  return at == std::string::npos ? all : (std::strtoll(status->c_str() + at + 8, nullptr, 10) + 512) * 1024;
}

Result<TimedRun> TimedProcess::Run(const std::function<bool()>& keep_going, StartBy start) {
  NL_TRY(Empty(out_));
  NL_TRY(Empty(err_));
  std::vector<char*> argv;
  for (const std::string& word : command_.words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const int64_t inherited_bytes = InheritedBytes(start);
  const int64_t start_ns = ClockNs();
  NL_ASSIGN(const pid_t child, start == StartBy::kSpawn ? Spawn(argv.data()) : Fork(argv.data()));
  const UniqueFd ends = OpenPidFd(child);
  int64_t end_ns = 0;
  bool stopped = false;
  std::chrono::steady_clock::time_point stopped_at;
  while (ends.valid()) {
    pollfd waiting{ends.get(), POLLIN, 0};
    const bool ended = poll(&waiting, 1, kPollMs) > 0;
    end_ns = ClockNs();
    if (ended) break;
    if (!stopped && !keep_going()) {
      kill(-child, SIGTERM);
      stopped = true;
      stopped_at = std::chrono::steady_clock::now();
    } else if (stopped && std::chrono::steady_clock::now() - stopped_at > kProcessGrace) {
      kill(-child, SIGKILL);
    }
  }
  int raw = 0;
  rusage used{};
  while (wait4(child, &raw, 0, &used) < 0 && errno == EINTR) {
  }
  if (!ends.valid()) end_ns = ClockNs();
  kill(-child, SIGKILL);  // what it left running would disturb the next run
  if (stopped || !keep_going()) return Cancelled();
  TimedRun run;
  run.wall_s = static_cast<double>(end_ns - start_ns) / 1e9;
  run.user_s = Seconds(used.ru_utime);
  run.system_s = Seconds(used.ru_stime);
  if (used.ru_maxrss * 1024 > inherited_bytes) run.peak_rss_bytes = used.ru_maxrss * 1024;
  run.status = WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
  return run;
}

int64_t TimedProcess::OutputBytes() const {
  struct stat info {};
  return fstat(out_.get(), &info) == 0 ? info.st_size : 0;
}

Result<std::string> TimedProcess::Output(int64_t max_bytes) const {
  const int64_t size = OutputBytes();
  if (size > max_bytes)
    return Limit(fmt::format("standard output has {} bytes, at most {} are compared", size, max_bytes));
  std::string text(static_cast<size_t>(size), '\0');
  size_t have = 0;
  while (have < text.size()) {
    const ssize_t n = pread(out_.get(), text.data() + have, text.size() - have, static_cast<off_t>(have));
    if (n <= 0) return IoError("cannot read the output");
    have += static_cast<size_t>(n);
  }
  return text;
}

std::string TimedProcess::ErrorTail() const {
  struct stat info {};
  if (fstat(err_.get(), &info) != 0) return {};
  const off_t from = info.st_size > kErrorTailBytes ? info.st_size - kErrorTailBytes : 0;
  std::string text(static_cast<size_t>(info.st_size - from), '\0');
  const ssize_t n = pread(err_.get(), text.data(), text.size(), from);
  text.resize(n > 0 ? static_cast<size_t>(n) : 0);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

}  // namespace nl::bench
