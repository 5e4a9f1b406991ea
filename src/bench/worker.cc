// SPDX-License-Identifier: Apache-2.0
#include "bench/worker.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "base/run_program.h"

extern char** environ;

namespace nl::bench {

namespace {

constexpr int kAskPollMs = 100;
constexpr size_t kMostLineBytes = size_t{256} << 20;
constexpr off_t kShownErrorBytes = 1500;

}  // namespace

Result<Worker> Worker::Start(const Command& command, const std::vector<std::string>& environment) {
  const std::string program = FindProgram(command.words[0]);
  if (program.empty()) return NotFound(fmt::format("cannot run '{}': no such program", command.words[0]));
  int in[2];
  int out[2];
  if (pipe2(in, O_CLOEXEC) != 0) return IoError("cannot make a pipe");
  const UniqueFd child_in(in[0]);
  Worker worker;
  worker.to_ = UniqueFd(in[1]);
  if (pipe2(out, O_CLOEXEC) != 0) return IoError("cannot make a pipe");
  worker.from_ = UniqueFd(out[0]);
  const UniqueFd child_out(out[1]);
  worker.err_ = UniqueFd(memfd_create("stderr", MFD_CLOEXEC));
  std::vector<char*> argv;
  for (const std::string& word : command.words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  std::vector<char*> variables;
  for (const std::string& variable : environment) variables.push_back(const_cast<char*>(variable.c_str()));
  for (char** variable = environ; *variable != nullptr; ++variable) variables.push_back(*variable);
  variables.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  if (!command.directory.empty()) posix_spawn_file_actions_addchdir_np(&actions, command.directory.c_str());
  posix_spawn_file_actions_adddup2(&actions, child_in.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, child_out.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, worker.err_.get(), STDERR_FILENO);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  const int code =
      posix_spawn(&worker.pid_, program.c_str(), &actions, &attributes, argv.data(), variables.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (code != 0) {
    worker.pid_ = -1;
    return IoError(fmt::format("cannot start {}", program), code);
  }
  fcntl(worker.from_.get(), F_SETFL, O_NONBLOCK);
  return worker;
}

Worker::Worker(Worker&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      to_(std::move(other.to_)),
      from_(std::move(other.from_)),
      err_(std::move(other.err_)),
      buffer_(std::move(other.buffer_)),
      timeout_s_(other.timeout_s_) {}

Worker::~Worker() {
  if (pid_ <= 0) return;
  kill(-pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

std::string Worker::ErrorTail() const {
  struct stat info {};
  if (!err_.valid() || fstat(err_.get(), &info) != 0 || info.st_size == 0) return "";
  const off_t from = info.st_size > kShownErrorBytes ? info.st_size - kShownErrorBytes : 0;
  std::string text(static_cast<size_t>(info.st_size - from), '\0');
  const ssize_t n = pread(err_.get(), text.data(), text.size(), from);
  text.resize(n > 0 ? static_cast<size_t>(n) : 0);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return ":\n" + text;
}

Result<std::string> Worker::ReadLine(const std::function<bool()>& keep_going) {
  const auto start = std::chrono::steady_clock::now();
  for (size_t looked = 0;;) {
    const size_t end = buffer_.find('\n', looked);
    if (end != std::string::npos) {
      std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return line;
    }
    looked = buffer_.size();
    if (looked > kMostLineBytes) return Limit("the benchmark answers with more than 256 MB");
    if (!keep_going()) return Cancelled();
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > timeout_s_)
      return Limit(fmt::format("the benchmark did not answer within {:g} s", timeout_s_));
    pollfd waiting{from_.get(), POLLIN, 0};
    if (poll(&waiting, 1, kAskPollMs) <= 0) continue;
    char bytes[64 << 10];
    const ssize_t n = read(from_.get(), bytes, sizeof(bytes));
    if (n > 0) buffer_.append(bytes, static_cast<size_t>(n));
    if (n == 0) return InvalidInput("the benchmark ended without an answer" + ErrorTail());
  }
}

Result<Json> Worker::Ask(const Json& request, const std::function<bool()>& keep_going) {
  const std::string line = DumpJson(request) + "\n";
  for (size_t sent = 0; sent < line.size();) {
    const ssize_t n = write(to_.get(), line.data() + sent, line.size() - sent);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return InvalidInput("the benchmark ended" + ErrorTail());
    sent += static_cast<size_t>(n);
  }
  NL_ASSIGN(const std::string text, ReadLine(keep_going));
  const Result<Json> reply = ParseJson(text);
  if (!reply.ok() || !reply->is_object() || !reply->contains("ok"))
    return InvalidInput("the benchmark's answer is not a JSON object of the protocol" + ErrorTail());
  if ((*reply)["ok"] != true) {
    const Json& error = reply->contains("error") ? (*reply)["error"] : Json("no reason");
    return InvalidInput(error.is_string() ? error.get<std::string>() : DumpJson(error));
  }
  return *reply;
}

}  // namespace nl::bench
