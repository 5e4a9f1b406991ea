// SPDX-License-Identifier: Apache-2.0
// neurolens-peaks: `neurolens peaks measure` without the rest, for machines that have a C++ compiler and no
// more. Prints one JSON document; `neurolens peaks measure --from FILE` takes it into a store.

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "capture/peaks/measure.h"
#include "capture/peaks/ptx_kernels.h"

namespace {

volatile std::sig_atomic_t g_stopped = 0;

constexpr char kPeaksHelp[] =
    "neurolens-peaks [--budget S] [--device N] [--no-cpu] [--no-gpu] [--cublaslt PATH] [--ptx]\n"
    "Measures what the devices of this machine reach and prints JSON to stdout.\n"
    "  --budget S       seconds for everything (default 60)\n"
    "  --device N       one GPU by its number; default: all\n"
    "  --no-cpu         without the CPU;  --no-gpu: without GPUs\n"
    "  --cublaslt PATH  libcublasLt to multiply matrices with\n"
    "  --ptx            print the kernels as PTX text and exit\n"
    "Example: neurolens-peaks > peaks.json; neurolens peaks measure --from peaks.json\n";

// False: usage is wrong.
bool ReadArguments(int argc, char** argv, nl::capture::PeakOptions& to, bool& ptx) {
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const bool has_value = i + 1 < argc;
    char* end = nullptr;
    if (name == "--no-cpu") {
      to.cpu = false;
    } else if (name == "--no-gpu") {
      to.gpu = false;
    } else if (name == "--ptx") {
      ptx = true;
    } else if (name == "--cublaslt" && has_value) {
      to.cublaslt = argv[++i];
    } else if (name == "--budget" && has_value) {
      to.budget_s = std::strtod(argv[++i], &end);
      if (*end != '\0' || !(to.budget_s > 0 && to.budget_s <= 3600)) return false;
    } else if (name == "--device" && has_value) {
      to.device = static_cast<int>(std::strtol(argv[++i], &end, 10));
      if (*end != '\0' || to.device < 0) return false;
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && (std::strcmp(argv[1], "--help") == 0 || std::strcmp(argv[1], "-h") == 0)) {
    std::fputs(kPeaksHelp, stdout);
    return 0;
  }
  nl::capture::PeakOptions options;
  bool ptx = false;
  if (!ReadArguments(argc, argv, options, ptx)) {
    std::fputs(kPeaksHelp, stderr);
    return 2;
  }
  if (ptx) {
    std::fputs(nl::capture::PtxText().c_str(), stdout);
    return 0;
  }
  // What was measured until then is printed.
  signal(SIGINT, [](int) { g_stopped = 1; });
  const bool terminal = isatty(2) == 1;
  options.progress = [terminal](const std::string& device, const std::string& figure) {
    if (terminal) std::fprintf(stderr, "\r\033[K%s: %s", device.c_str(), figure.c_str());
    return g_stopped == 0;
  };
  const nl::capture::PeakMeasurement measured = nl::capture::MeasurePeaks(options);
  if (terminal) std::fputs("\r\033[K", stderr);
  std::fputs(nl::capture::PeaksJson(measured).c_str(), stdout);
  return 0;
}
