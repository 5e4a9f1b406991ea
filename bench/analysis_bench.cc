// SPDX-License-Identifier: Apache-2.0
// analysis_bench STORE RUN: how long the passes take on a stored run once its columns are loaded, together
// and each by itself (after those it needs), and how much memory they add to the columns.

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "ops/open_analysis.h"
#include "ops/settings.h"

namespace {

double SecondsSince(std::chrono::steady_clock::time_point from) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
}

// A line of /proc/self/status in MB: VmRSS now, VmHWM at its highest.
double MemoryMb(const char* what) {
  double mb = 0;
  if (std::FILE* file = std::fopen("/proc/self/status", "r")) {
    char line[256];
    while (std::fgets(line, sizeof line, file)) {
      if (std::strncmp(line, what, std::strlen(what)) == 0)
        mb = std::atof(line + std::strlen(what) + 1) / 1e3;
    }
    std::fclose(file);
  }
  return mb;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: analysis_bench STORE RUN\n");
    return 2;
  }
  nl::SettingsInput input;
  input.flags = {{"store", argv[1]}};
  const auto settings = nl::Settings::Load(input);
  if (!settings.ok()) return 2;
  nl::OpContext context;
  context.settings = &*settings;
  nl::AnalysisParams params;
  params.run = argv[2];
  const auto load = std::chrono::steady_clock::now();
  auto open = nl::Analyze(context, params);
  if (!open.ok()) {
    fmt::print(stderr, "analysis_bench: {}\n", open.error().ToString());
    return 3;
  }
  nl::Analysis& analysis = *open->analysis;
  nl::Reads reads;
  for (const auto& describe : nl::AllPasses()) reads |= describe().Info().reads;
  if (const nl::Status loaded = analysis.Load(reads); !loaded.ok()) {
    fmt::print(stderr, "analysis_bench: {}\n", loaded.error().ToString());
    return 3;
  }
  const double load_s = SecondsSince(load);
  const double columns_mb = static_cast<double>(analysis.loaded_bytes()) / 1e6;
  const double loaded_mb = MemoryMb("VmRSS:");
  double total_s = 0;
  std::string passes;
  for (const auto& describe : nl::AllPasses()) {
    const std::string name = describe().Info().name;
    const auto start = std::chrono::steady_clock::now();
    if (const nl::Status status = analysis.Run(name); !status.ok()) {
      fmt::print(stderr, "analysis_bench: {}: {}\n", name, status.error().ToString());
      return 4;
    }
    const double seconds = SecondsSince(start);
    total_s += seconds;
    passes += fmt::format("{}\"{}\": {:.3f}", passes.empty() ? "" : ", ", name, seconds);
  }
  malloc_trim(0);  // what passes have freed is not added
  const double added_mb = MemoryMb("VmRSS:") - loaded_mb, peak_mb = MemoryMb("VmHWM:");
  auto again = nl::Analyze(context, params);
  if (!again.ok() || !again->analysis->Load(reads).ok()) return 3;
  const auto all = std::chrono::steady_clock::now();
  if (!again->analysis->RunAll().ok()) return 4;
  const double together_s = SecondsSince(all);
  fmt::print(
      "{{\"load_s\": {:.3f}, \"analysis_s\": {:.3f}, \"one_by_one_s\": {:.3f}, \"columns_mb\": {:.0f}, "
      "\"added_mb\": {:.0f}, "
      "\"peak_mb\": {:.0f}, "
      "\"passes_s\": {{{}}}}}\n",
      load_s, together_s, total_s, columns_mb, added_mb, peak_mb, passes);
  return 0;
}
