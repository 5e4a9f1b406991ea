// SPDX-License-Identifier: Apache-2.0
// neurolens-capture: `neurolens record` without the rest, for machines that have a C++ compiler and no more.

#include <fcntl.h>

#include <cerrno>
#include <csignal>
#include <cstdio>

#include "capture/launcher/command_line.h"
#include "capture/launcher/live_view.h"
#include "machine/system.h"

#ifndef NL_CAPTURE_VERSION
#define NL_CAPTURE_VERSION "unknown"
#endif

namespace {

// Started with stdin, stdout or stderr closed, the capture's file would take that number and receive
// what is said to the user: each is held with a descriptor of the wrong direction.
void HoldStandardDescriptors() {
  const int modes[] = {O_WRONLY, O_RDONLY, O_RDONLY};
  for (int fd = 0; fd < 3; ++fd) {
    if (fcntl(fd, F_GETFD) == -1 && errno == EBADF)
      static_cast<void>(open("/dev/null", modes[fd] | O_CLOEXEC));
  }
}

}  // namespace

int main(int argc, char** argv) {
  HoldStandardDescriptors();
  signal(SIGPIPE, SIG_IGN);
  nl::capture::CommandLine line;
  std::string why;
  if (!nl::capture::ParseCommandLine({argv + (argc > 0 ? 1 : 0), argv + argc}, line, why)) {
    std::fprintf(stderr, "neurolens-capture: %s\n", why.c_str());
    return 125;
  }
  if (line.help) {
    std::fputs(nl::capture::CommandLineHelp().c_str(), stdout);
    return 0;
  }
  if (line.version) {
    std::puts("neurolens-capture " NL_CAPTURE_VERSION);
    return 0;
  }
  if (line.system) {
    std::puts(nl::machine::SystemJson(nl::machine::ReadSystem()).c_str());
    return 0;
  }
  line.options.version = NL_CAPTURE_VERSION;
  if (line.options.directory.empty())
    line.options.directory = nl::capture::DefaultDirectory(line.options.command);
  if (line.live) line.options.watch = nl::capture::WatchOn(2);
  nl::capture::LaunchResult result;
  nl::capture::LaunchError error;
  if (!nl::capture::Launch(line.options, result, error)) {
    std::fprintf(stderr, "neurolens-capture: %s\n", error.message.c_str());
    return nl::capture::ExitStatusOf(error.kind);
  }
  if (!line.quiet) {
    std::fprintf(stderr,
                 "neurolens-capture: wrote %s (%llu kernels, %llu ranges, %llu CPU samples, %llu lost)\n"
                 "neurolens-capture: recording took about %.3f s of the program's own time\n",
                 result.directory.c_str(), static_cast<unsigned long long>(result.kernels),
                 static_cast<unsigned long long>(result.ranges),
                 static_cast<unsigned long long>(result.samples),
                 static_cast<unsigned long long>(result.records_lost + result.samples_lost),
                 static_cast<double>(result.cost_ns) / 1e9);
    for (const std::string& message : result.messages)
      std::fprintf(stderr, "neurolens-capture: note: %s\n", message.c_str());
  }
  return result.exit_status;
}
