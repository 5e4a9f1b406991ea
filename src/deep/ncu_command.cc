// SPDX-License-Identifier: Apache-2.0
#include "deep/ncu_command.h"

#include <fmt/format.h>

#include "base/ascii.h"
#include "deep/ncu_name.h"

namespace nl::deep {

namespace {

// What the classification, the occupancy and the stall groups are made of, besides `--set roofline`.
std::vector<std::string> Collected(const std::string& metric_set) {
  std::vector<std::string> sections{"SpeedOfLight", "Occupancy", "LaunchStats"};
  if (metric_set == "stalls") sections.insert(sections.end(), {"SchedulerStats", "WarpStateStats"});
  if (metric_set == "roofline") sections.insert(sections.end(), {"MemoryWorkloadAnalysis", "SchedulerStats"});
  if (metric_set == "deep_dive")
    sections = {"SpeedOfLight",   "MemoryWorkloadAnalysis",  "Occupancy",
                "SchedulerStats", "ComputeWorkloadAnalysis", "WarpStateStats",
                "LaunchStats",    "InstructionStats"};
  std::vector<std::string> out;
  if (metric_set == "roofline" || metric_set == "deep_dive") out = {"--set", "roofline"};
  for (const std::string& section : sections) out.insert(out.end(), {"--section", section});
  return out;
}

// Any context and stream, the functions, the numbers of their launches.
std::string KernelId(const DeepPlan& plan) {
  std::vector<std::string> regexes;
  for (const PlanKernel& kernel : plan.kernels) regexes.push_back(kernel.ncu_regex);
  return fmt::format("::regex:{}:^({})$", Alternation(regexes), fmt::join(plan.launch_numbers, "|"));
}

}  // namespace

std::string NvtxInclude(std::string_view label, bool push_pop) {
  std::string out;
  for (const char c : label) {
    if (std::string_view("@,[]/*+\\").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return push_pop ? out + "/" : out;
}

std::vector<std::string> NcuCommand(const DeepPlan& plan, const NcuOptions& options,
                                    const std::vector<std::string>& command) {
  // Functions, not demangled names: by those, ncu 2025.3 takes kernels of cuBLAS and cuDNN for the one that
  // was launched before, and counts them so (docs/deep.md).
  std::vector<std::string> out{options.ncu, "--target-processes", "all", "--kernel-name-base", "function"};
  // A range is measured as a whole: its kernels cannot be chosen.
  if (options.replay != "range")
    out.insert(out.end(), {"--filter-mode", "per-launch-config", "--kernel-id", KernelId(plan)});
  const std::vector<std::string> collected = Collected(options.metric_set);
  out.insert(out.end(), collected.begin(), collected.end());
  out.insert(out.end(),
             {"--clock-control", options.clock_control, "--replay-mode", options.replay, "--nvtx"});
  if (!options.nvtx_range.empty())
    out.insert(out.end(), {"--nvtx-include", NvtxInclude(options.nvtx_range, options.range_is_push_pop)});
  out.insert(out.end(), {"--print-kernel-base", "demangled", "--export", options.report, "--force-overwrite",
                         "--log-file", options.log});
  out.insert(out.end(), command.begin(), command.end());
  return out;
}

std::vector<std::string> NcuPageCommand(const std::string& ncu, const std::string& report,
                                        const std::string& page) {
  return {ncu, "--import", report, "--csv", "--page", page};
}

NcuLog ReadNcuLog(std::string_view log) {
  NcuLog out;
  bool listing = false;
  while (!log.empty()) {
    const size_t end = std::min(log.find('\n'), log.size());
    std::string_view line = log.substr(0, end);
    log.remove_prefix(std::min(end + 1, log.size()));
    if (line.starts_with("==PROF== Profiling ")) ++out.profiled;
    if (line.find("ERR_NVGPUCTRPERM") != std::string_view::npos) out.no_permission = true;
    if (line.find("Available Kernels") != std::string_view::npos) {
      listing = true;
      continue;
    }
    if (!listing) continue;
    // "	1. alpha(float *, int)"
    while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
    size_t digits = 0;
    while (digits < line.size() && IsDigit(line[digits])) ++digits;
    if (digits == 0 || line.substr(digits, 2) != ". ") {
      listing = false;
      continue;
    }
    out.available.emplace_back(line.substr(digits + 2));
  }
  return out;
}

}  // namespace nl::deep
