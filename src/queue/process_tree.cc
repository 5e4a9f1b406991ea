// SPDX-License-Identifier: Apache-2.0
#include "queue/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>

#include <fmt/format.h>

namespace nl::queue {

namespace {

constexpr auto kLookForEndEvery = std::chrono::milliseconds(5);
constexpr int64_t kMostEnvironmentBytes = 8 << 20;

struct ProcessStat {
  char state = 0;
  pid_t session = 0;
  uint64_t start = 0;
};

// Field 2 of the line is a name that may hold anything, so fields are counted from its last parenthesis.
bool ReadStat(pid_t pid, ProcessStat& out) {
  const Result<std::string> text = ReadWholeFile(fmt::format("/proc/{}/stat", pid), 1 << 16);
  if (!text.ok()) return false;
  const size_t name_end = text->rfind(')');
  if (name_end == std::string::npos) return false;
  int session = 0;
  unsigned long long start = 0;
  if (std::sscanf(text->c_str() + name_end + 1,
                  " %c %*d %*d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
                  &out.state, &session, &start) != 3)
    return false;
  out.session = session;
  out.start = start;
  return true;
}

bool IsLive(const ProcessStat& stat) { return stat.state != 'Z' && stat.state != 'X'; }

// A session id is not given to another session while one of its processes lives. So its processes are ours
// when its first process has the recorded start, or has ended.
bool InSession(const ProcessStat& stat, const AttemptMark& mark) {
  if (mark.session == 0 || stat.session != mark.session) return false;
  ProcessStat leader;
  return !ReadStat(mark.session, leader) || leader.start == mark.session_start;
}

bool HasMark(pid_t pid, const std::string& wanted) {
  const Result<std::string> text = ReadWholeFile(fmt::format("/proc/{}/environ", pid), kMostEnvironmentBytes);
  if (!text.ok()) return false;
  for (size_t at = text->find(wanted); at != std::string::npos; at = text->find(wanted, at + 1)) {
    const size_t end = at + wanted.size();
    if ((at == 0 || (*text)[at - 1] == '\0') && (end == text->size() || (*text)[end] == '\0')) return true;
  }
  return false;
}

std::string ValueIn(const std::vector<std::string>& environment, std::string_view name) {
  for (const std::string& one : environment) {
    if (one.size() > name.size() && one[name.size()] == '=' && one.starts_with(name))
      return one.substr(name.size() + 1);
  }
  return "";
}

bool MayExecute(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
}

// As execvp would, but with the PATH and the folder of the entry.
std::string FindFor(const SpawnRequest& request) {
  const std::string& name = request.arguments[0];
  const auto absolute = [&](std::string path) {
    return path.starts_with('/') ? path : fmt::format("{}/{}", request.working_folder, path);
  };
  if (name.find('/') != std::string::npos) return absolute(name);
  std::string path = ValueIn(request.environment, "PATH");
  if (path.empty()) path = "/usr/bin:/bin";
  for (std::string_view rest = path; !name.empty();) {
    const size_t end = std::min(rest.find(':'), rest.size());
    const std::string candidate =
        absolute(fmt::format("{}/{}", end == 0 ? std::string_view(".") : rest.substr(0, end), name));
    if (MayExecute(candidate)) return candidate;
    if (end == rest.size()) break;
    rest.remove_prefix(end + 1);
  }
  return "";
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

// Owns the attributes and file actions of one posix_spawn.
class SpawnSetup {
 public:
  SpawnSetup() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  SpawnSetup(const SpawnSetup&) = delete;
  SpawnSetup& operator=(const SpawnSetup&) = delete;
  ~SpawnSetup() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }

  void Fill(const SpawnRequest& request, int output) {
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
    // Onto itself: that clears close-on-exec in the child.
    if (request.kept_open >= 0)
      posix_spawn_file_actions_adddup2(&actions, request.kept_open, request.kept_open);
    posix_spawn_file_actions_addchdir_np(&actions, request.working_folder.c_str());
    sigset_t none, ours;
    sigemptyset(&none);
    sigemptyset(&ours);
    for (const int number : {SIGPIPE, SIGINT, SIGTERM, SIGALRM}) sigaddset(&ours, number);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &ours);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

// Every process but this one that `wanted` says yes to.
std::vector<pid_t> ProcessesThat(const std::function<bool(pid_t)>& wanted) {
  std::vector<pid_t> out;
  DIR* proc = opendir("/proc");
  if (proc == nullptr) return out;
  while (const dirent* item = readdir(proc)) {
    pid_t pid = 0;
    const char* end = item->d_name + std::char_traits<char>::length(item->d_name);
    if (std::from_chars(item->d_name, end, pid).ptr != end || pid <= 0 || pid == getpid()) continue;
    if (wanted(pid)) out.push_back(pid);
  }
  closedir(proc);
  return out;
}

std::string BootId() {
  const Result<std::string> text = ReadWholeFile("/proc/sys/kernel/random/boot_id", 4096);
  return text.ok() ? text->substr(0, text->find('\n')) : "";
}

}  // namespace

AttemptMark MarkOf(std::string_view entry_id, int64_t attempt) {
  AttemptMark mark;
  mark.environment = fmt::format("{}={}:{}", kAttemptVariable, entry_id, attempt);
  return mark;
}

bool BelongsTo(pid_t pid, const AttemptMark& mark) {
  ProcessStat stat;
  return ReadStat(pid, stat) && (InSession(stat, mark) || HasMark(pid, mark.environment));
}

std::vector<pid_t> ProcessesOf(const AttemptMark& mark) {
  return ProcessesThat([&](pid_t pid) {
    ProcessStat stat;
    return ReadStat(pid, stat) && IsLive(stat) && (InSession(stat, mark) || HasMark(pid, mark.environment));
  });
}

std::vector<pid_t> ProcessesWithOpen(const std::string& path) {
  struct stat wanted {};
  if (stat(path.c_str(), &wanted) != 0) return {};
  return ProcessesThat([&](pid_t pid) {
    std::error_code ec;
    const std::string fds = fmt::format("/proc/{}/fd", pid);
    for (std::filesystem::directory_iterator it(fds, ec), end; !ec && it != end; it.increment(ec)) {
      struct stat info {};
      if (stat(it->path().c_str(), &info) == 0 && info.st_dev == wanted.st_dev &&
          info.st_ino == wanted.st_ino)
        return true;
    }
    return false;
  });
}

bool EndProcesses(const AttemptMark& mark, std::chrono::milliseconds grace,
                  const std::function<bool()>& keep_going) {
  const auto until = std::chrono::steady_clock::now() + grace;
  bool asked = false;
  for (;;) {
    const std::vector<pid_t> live = ProcessesOf(mark);
    if (live.empty()) return true;
    const bool late = std::chrono::steady_clock::now() >= until;
    for (const pid_t pid : live) {
      // A stopped process would never see SIGTERM.
      if (late)
        kill(pid, SIGKILL);
      else if (!asked)
        kill(pid, SIGTERM), kill(pid, SIGCONT);
    }
    asked = true;
    if (!keep_going()) return false;
    std::this_thread::sleep_for(kLookForEndEvery);
  }
}

Result<pid_t> SpawnInSession(const SpawnRequest& request) {
  if (request.arguments.empty()) return InvalidInput("the command is empty");
  if (!IsDirectory(request.working_folder))
    return NotFound(fmt::format("the working folder {} does not exist", request.working_folder));
  const std::string program = FindFor(request);
  if (program.empty()) return NotFound(fmt::format("{}: command not found", request.arguments[0]));
  const UniqueFd output(open(request.output_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!output.valid()) return FileError("create", request.output_path);
  SpawnSetup setup;
  setup.Fill(request, output.get());
  const std::vector<char*> environment = Pointers(request.environment);
  pid_t child = -1;
  int code = posix_spawn(&child, program.c_str(), &setup.actions, &setup.attributes,
                         Pointers(request.arguments).data(), environment.data());
  if (code == ENOEXEC) {  // a script without #!: as a shell would
    std::vector<std::string> by_shell = request.arguments;
    by_shell[0] = program;
    by_shell.insert(by_shell.begin(), "/bin/sh");
    code = posix_spawn(&child, "/bin/sh", &setup.actions, &setup.attributes, Pointers(by_shell).data(),
                       environment.data());
  }
  if (code != 0) return IoError(fmt::format("cannot start {}", program), code);
  return child;
}

void WriteSession(const std::string& path, pid_t pid) {
  ProcessStat stat;
  if (!ReadStat(pid, stat)) return;
  std::ofstream(path, std::ios::trunc) << fmt::format("{} {} {}\n", BootId(), pid, stat.start);
}

void ReadSession(const std::string& path, AttemptMark& mark) {
  std::ifstream file(path);
  std::string boot;
  pid_t pid = 0;
  uint64_t start = 0;
  if (!(file >> boot >> pid >> start) || boot != BootId() || pid <= 1) return;
  mark.session = pid;
  mark.session_start = start;
}

std::string ProgramName(pid_t pid) {
  const Result<std::string> text = ReadWholeFile(fmt::format("/proc/{}/comm", pid), 4096);
  return text.ok() ? text->substr(0, text->find('\n')) : "";
}

}  // namespace nl::queue
