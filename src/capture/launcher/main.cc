// SPDX-License-Identifier: Apache-2.0
// neurolens-capture: `neurolens record` without the rest, for machines that have a C++ compiler and no more.

#include <sys/ioctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <memory>

#include "capture/format/chunk_writer.h"
#include "capture/launcher/command_line.h"
#include "capture/launcher/live_view.h"

#ifndef NL_CAPTURE_VERSION
#define NL_CAPTURE_VERSION "unknown"
#endif

namespace {

using nl::capture::ControlBlock;

// Refreshes a screen on a terminal, prints a line now and then elsewhere. On stderr: stdout is the command's.
void ShowLive(nl::capture::LaunchOptions& options) {
  const bool terminal = isatty(2) != 0;
  auto view = std::make_shared<nl::capture::LiveView>();
  auto printed_ns = std::make_shared<int64_t>(0);
  options.watch = [=](const ControlBlock& control, const std::string& directory) {
    const int64_t now_ns = nl::capture::MonotonicNs();
    if (terminal) {
      winsize size{};
      if (ioctl(2, TIOCGWINSZ, &size) != 0) size = {24, 80, 0, 0};
      const std::string text = view->Screen(control, directory, now_ns, size.ws_col, size.ws_row);
      std::fprintf(stderr, "\x1b[H\x1b[2J%s", text.c_str());
    } else if (now_ns - *printed_ns > 2'000'000'000) {
      *printed_ns = now_ns;
      std::fprintf(stderr, "neurolens-capture: %s\n", view->Line(control, now_ns).c_str());
    }
  };
}

}  // namespace

int main(int argc, char** argv) {
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
  line.options.version = NL_CAPTURE_VERSION;
  if (line.options.directory.empty()) line.options.directory = nl::capture::DefaultDirectory(line.options.command);
  if (line.live) ShowLive(line.options);
  nl::capture::LaunchResult result;
  nl::capture::LaunchError error;
  if (!nl::capture::Launch(line.options, result, error)) {
    std::fprintf(stderr, "neurolens-capture: %s\n", error.message.c_str());
    return nl::capture::ExitStatusOf(error.kind);
  }
  if (!line.quiet) {
    std::fprintf(stderr, "neurolens-capture: wrote %s (%llu kernels, %llu ranges, %llu CPU samples, %llu lost)\n",
                 result.directory.c_str(), static_cast<unsigned long long>(result.kernels),
                 static_cast<unsigned long long>(result.ranges), static_cast<unsigned long long>(result.samples),
                 static_cast<unsigned long long>(result.records_lost + result.samples_lost));
    for (const std::string& message : result.messages)
      std::fprintf(stderr, "neurolens-capture: note: %s\n", message.c_str());
  }
  return result.exit_status;
}
