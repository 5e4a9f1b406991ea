// SPDX-License-Identifier: Apache-2.0
#pragma once
// ChildProcess: a program that is forked, waits until the recording is ready, and then becomes the
// command. What keeps it from running is known before the recording begins.
// Thread rule: one thread. The owner reaps the process.

#include <sys/types.h>
#include <csignal>
#include <string>
#include <vector>

namespace nl::capture {

class ChildProcess {
 public:
  ChildProcess() = default;
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Forks; the child waits. False: errno says why. `mask` is the signal mask it shall run with.
  bool Fork(const std::vector<std::string>& command, const std::vector<std::string>& environment,
            const sigset_t& mask);
  pid_t pid() const { return pid_; }
  // Lets it run. 0, or the errno of the exec that failed (the child is then gone, not yet reaped).
  int Start();

 private:
  pid_t pid_ = -1;
  int gate_ = -1;    // closed or written: go
  int report_ = -1;  // the errno of exec; closed by a successful one
};

}  // namespace nl::capture
