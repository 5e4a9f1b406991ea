// SPDX-License-Identifier: Apache-2.0
#include "base/run_program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>

#include <fmt/format.h>

#include "base/file_ops.h"

extern char** environ;

namespace nl {

namespace {

constexpr int kOutputPollMs = 100;
constexpr auto kGrace = std::chrono::seconds(3);  // between asking to end and ending

bool IsExecutable(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
}

struct Pipe {
  UniqueFd read, write;
  Status Open() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return IoError("cannot make a pipe");
    read = UniqueFd(ends[0]);
    write = UniqueFd(ends[1]);
    fcntl(read.get(), F_SETFL, O_NONBLOCK);
    return {};
  }
};

// Takes what is there; false at the end.
bool Take(int fd, std::string& to, size_t max_kept_bytes) {
  char bytes[16 << 10];
  for (;;) {
    const ssize_t n = read(fd, bytes, sizeof bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno == EAGAIN;
    if (n == 0) return false;
    to.append(bytes, static_cast<size_t>(n));
    if (to.size() > 2 * max_kept_bytes) to.erase(0, to.size() - max_kept_bytes);
  }
}

// The child in a process group of its own, so that it can be ended with what it started.
Result<pid_t> Spawn(const std::vector<std::string>& arguments, int out, int err) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  pid_t child = -1;
  const int code = posix_spawn(&child, arguments[0].c_str(), &actions, &attributes, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (code != 0) return IoError(fmt::format("cannot start {}", arguments[0]), code);
  return child;
}

int StatusOf(int raw) { return WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw); }

}  // namespace

std::string OwnProgram() {
  char path[4096];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof(path));
  return n > 0 ? std::string(path, static_cast<size_t>(n)) : std::string();
}

std::string FindProgram(std::string_view name) {
  if (name.find('/') != std::string_view::npos)
    return IsExecutable(std::string(name)) ? std::string(name) : std::string();
  const char* path = std::getenv("PATH");
  std::string_view folders = path != nullptr ? path : "/usr/bin:/bin";
  while (!folders.empty()) {
    const size_t end = std::min(folders.find(':'), folders.size());
    const std::string candidate =
        fmt::format("{}/{}", end == 0 ? std::string_view(".") : folders.substr(0, end), name);
    if (IsExecutable(candidate)) return candidate;
    folders.remove_prefix(std::min(end + 1, folders.size()));
  }
  return {};
}

Result<ProgramResult> RunProgram(const std::vector<std::string>& arguments,
                                 const std::function<bool()>& keep_going, size_t max_kept_bytes,
                                 const std::string& out_path) {
  Pipe out, err;
  NL_TRY(out.Open());
  NL_TRY(err.Open());
  if (!out_path.empty()) {
    out.write = UniqueFd(open(out_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!out.write.valid()) return FileError("create", out_path);
  }
  NL_ASSIGN(const pid_t child, Spawn(arguments, out.write.get(), err.write.get()));
  out.write = UniqueFd();
  err.write = UniqueFd();
  ProgramResult result;
  bool stopped = false;
  std::chrono::steady_clock::time_point stopped_at;
  bool out_open = out_path.empty(), err_open = true;
  int raw = 0;
  for (bool ended = false; !ended;) {
    pollfd waiting[] = {{out_open ? out.read.get() : -1, POLLIN, 0},
                        {err_open ? err.read.get() : -1, POLLIN, 0}};
    poll(waiting, 2, kOutputPollMs);
    ended = waitpid(child, &raw, WNOHANG) == child;
    if (out_open) out_open = Take(out.read.get(), result.out, max_kept_bytes);
    if (err_open) err_open = Take(err.read.get(), result.err, max_kept_bytes);
    if (ended) break;
    const auto now = std::chrono::steady_clock::now();
    if (!stopped && !keep_going()) {
      kill(-child, SIGTERM);
      stopped = true;
      stopped_at = now;
    } else if (stopped && now - stopped_at > kGrace) {
      kill(-child, SIGKILL);
    }
  }
  if (stopped) return Cancelled();
  result.status = StatusOf(raw);
  for (std::string* text : {&result.out, &result.err}) {
    if (text->size() > max_kept_bytes) text->erase(0, text->size() - max_kept_bytes);
  }
  return result;
}

}  // namespace nl
