// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include "cli/cli.h"
#include "ops/query_mode.h"

namespace {

std::atomic<bool> g_cancelled{false};
std::atomic<int> g_signal{0};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free,
              "the signal handler may only touch lock-free atomics");

// How long a clean end may take: longer than the 3 s that a program run by us has to end itself.
constexpr unsigned kStopWithin_s = 5;

// The first signal asks the work to stop cleanly, the second does not wait for it. Work that does not look
// (one long computation, a read that never returns) is ended by the alarm: a store survives that at any
// instant, and `doctor --repair` removes what was staged.
void OnStopSignal(int number) {
  if (g_signal.exchange(number) != 0) _exit(128 + number);
  g_cancelled.store(true);
  alarm(kStopWithin_s);
}

void OnAlarm(int) {
  constexpr char kText[] = "neurolens: error: interrupted\n";
  static_cast<void>(!write(STDERR_FILENO, kText, sizeof(kText) - 1));
  _exit(128 + g_signal);
}

void InstallSignalHandlers() {
  struct sigaction stop {};
  stop.sa_handler = OnStopSignal;
  stop.sa_flags = SA_RESTART;
  for (const int number : {SIGINT, SIGTERM}) {
    struct sigaction before {};
    sigaction(number, nullptr, &before);
    // Started in the background with the signal ignored (nohup, "&" in a script): leave it so.
    if (before.sa_handler != SIG_IGN) sigaction(number, &stop, nullptr);
  }
  struct sigaction late {};
  late.sa_handler = OnAlarm;
  sigaction(SIGALRM, &late, nullptr);
  // A reader that left is seen as EPIPE, where it can be told from a full disk.
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, nullptr);
}

// Started with stdin, stdout or stderr closed, the next file opened (the catalog!)
// would take that number and receive our output. Hold each with a descriptor of
// the wrong direction, so that using it fails as it would have.
void HoldStandardDescriptors() {
  const int modes[] = {O_WRONLY, O_RDONLY, O_RDONLY};
  for (int fd = 0; fd < 3; ++fd) {
    if (fcntl(fd, F_GETFD) == -1 && errno == EBADF) static_cast<void>(open("/dev/null", modes[fd]));
  }
}

}  // namespace

int main(int argc, char** argv) {
  HoldStandardDescriptors();
  if (const std::optional<int> status = nl::RunAsQueryProcess(argc, argv)) return *status;
  InstallSignalHandlers();
  nl::CliHost host;
  host.ops = &nl::AllOps();
  host.cancelled = &g_cancelled;
  const int status = nl::RunCli({argv + (argc > 0 ? 1 : 0), argv + argc}, host);
  return status == 130 && g_signal != 0 ? 128 + g_signal : status;
}
