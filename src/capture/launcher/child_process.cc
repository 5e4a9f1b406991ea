// SPDX-License-Identifier: Apache-2.0
#include "capture/launcher/child_process.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace nl::capture {

namespace {

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

// Descriptors 0 to 2 may be closed in this process: ours must not take their place in the child.
bool SafePipe(int (&ends)[2]) {
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  for (int& end : ends) {
    if (end > 2) continue;
    const int moved = fcntl(end, F_DUPFD_CLOEXEC, 3);
    close(end);
    if (moved < 0) return false;
    end = moved;
  }
  return true;
}

// In the child, between fork and exec: calls that are safe there only.
[[noreturn]] void BecomeCommand(int gate, int report, char** arguments, char** environment,
                                const sigset_t& mask) {
  char go = 0;
  ssize_t got = 0;
  do {
    got = read(gate, &go, 1);
  } while (got < 0 && errno == EINTR);
  if (got != 1) _exit(125);  // the launcher died before it was ready
  // The launcher ignores it for itself; a program expects to be ended by it.
  signal(SIGPIPE, SIG_DFL);
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  execvpe(arguments[0], arguments, environment);
  const int code = errno;
  ssize_t written = 0;
  do {
    written = write(report, &code, sizeof(code));
  } while (written < 0 && errno == EINTR);
  _exit(code == ENOENT ? 127 : 126);
}

}  // namespace

ChildProcess::~ChildProcess() {
  if (gate_ >= 0) close(gate_);
  if (report_ >= 0) close(report_);
}

bool ChildProcess::Fork(const std::vector<std::string>& command, const std::vector<std::string>& environment,
                        const sigset_t& mask) {
  std::vector<char*> arguments = Pointers(command);
  std::vector<char*> variables = Pointers(environment);
  int gate[2], report[2];
  if (!SafePipe(gate)) return false;
  if (!SafePipe(report)) {
    close(gate[0]);
    close(gate[1]);
    return false;
  }
  pid_ = fork();
  if (pid_ == 0) {
    close(gate[1]);
    close(report[0]);
    BecomeCommand(gate[0], report[1], arguments.data(), variables.data(), mask);
  }
  const int error = errno;
  close(gate[0]);
  close(report[1]);
  gate_ = gate[1];
  report_ = report[0];
  errno = error;
  return pid_ > 0;
}

int ChildProcess::Start() {
  const char go = 1;
  ssize_t written = 0;
  do {
    written = write(gate_, &go, 1);
  } while (written < 0 && errno == EINTR);
  close(std::exchange(gate_, -1));
  int code = 0;
  ssize_t got = 0;
  do {
    got = read(report_, &code, sizeof(code));
  } while (got < 0 && errno == EINTR);
  close(std::exchange(report_, -1));
  return got == sizeof(code) ? code : 0;
}

}  // namespace nl::capture
