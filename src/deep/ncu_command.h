// SPDX-License-Identifier: Apache-2.0
#pragma once
// The command lines of Nsight Compute for a plan, and what its log says about the outcome.
// Thread rule: pure functions.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "deep/plan.h"

namespace nl::deep {

// What is collected: minimal: shares of peak and occupancy; roofline: also FLOPs and traffic; stalls: why
// warps wait; deep_dive: all of these.
inline const std::vector<std::string> kMetricSets{"minimal", "roofline", "stalls", "deep_dive"};

struct NcuOptions {
  std::string ncu;                       // path of the program
  std::string metric_set = "deep_dive";  // one of kMetricSets
  std::string replay = "kernel";         // kernel, application, range
  std::string clock_control = "none";    // none, base
  std::string nvtx_range;                // collect inside ranges of this label only; empty: everywhere
  bool range_is_push_pop = true;         // how the program opens that range
  std::string report;                    // FILE.ncu-rep to write
  std::string log;                       // file for its own messages
};

// One run over the program for every launch of the plan.
std::vector<std::string> NcuCommand(const DeepPlan& plan, const NcuOptions& options,
                                    const std::vector<std::string>& command);
// Prints a page ("raw", "details") of a report as CSV.
std::vector<std::string> NcuPageCommand(const std::string& ncu, const std::string& report,
                                        const std::string& page);

// `label` for --nvtx-include: what has a meaning there is escaped, and a push/pop range ends in a slash.
std::string NvtxInclude(std::string_view label, bool push_pop);

struct NcuLog {
  int64_t profiled = 0;                // results it says it made
  bool no_permission = false;          // ERR_NVGPUCTRPERM
  std::vector<std::string> available;  // kernels it says the program has, when it profiled none
};
NcuLog ReadNcuLog(std::string_view log);

}  // namespace nl::deep
