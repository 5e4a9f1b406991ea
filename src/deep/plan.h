// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plan: the kernels of a timeline that counters are collected for, and which launch of each. A group is the
// launches of one kernel with one grid, block and set of input shapes in one stage; the groups with the most
// device time of every stage are taken; launches outside of every stage only where they are among the most of
// the whole run. Of a group a launch is taken that lasts as long as the median one, within 10 %, after the
// warm-up: launches before the steady phase, or in the first instance of the stage where the steady phase has
// none of the group. Which one is decided for all groups together (deep/invocation_set.h). Launches are
// counted as Nsight Compute counts them: per process and kernel function, from 1, in the order of the calls
// that launch; in a timeline of NVTX ranges, within those ranges. Thread rule: plain values; MakePlan is one
// call on one thread.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyze/analysis.h"
#include "base/record.h"

namespace nl::deep {

struct PlanKernel {
  std::string stage, kernel, name;  // stage, short name, name as the timeline spells it
  std::string ncu_regex;            // finds it in ncu's spelling (deep/ncu_name.h)
  std::vector<int64_t> grid, block;
  std::optional<std::string> shapes;  // inputs of the operator, JSON text
  std::optional<std::string> op;
  std::optional<int64_t> pid;
  std::optional<int32_t> device;
  int64_t launches = 0, warmup_launches = 0;
  std::string warmup;  // how the warm-up was recognised
  double total_ms = 0, median_ms = 0, launch_ms = 0;
  int64_t invocation = 0;  // of the launch that is taken
  int64_t kernel_id = 0;   // its row in table kernel
};
void Describe(Record<PlanKernel>& r);

struct PlanStage {
  std::string name;
  int64_t groups = 0, selected = 0;
  double total_ms = 0, selected_ms = 0;
};
void Describe(Record<PlanStage>& r);

struct DeepPlan {
  int64_t plan_version = 1;
  std::string run_id;
  int64_t top_n = 0;
  double device_ms = 0, selected_ms = 0;
  std::vector<int64_t> invocations;  // numbers of launches that are measured of every selected function
  int64_t measured_launches = 0;     // how many these are, by the timeline
  std::vector<PlanStage> stages;     // in order of first launch
  std::vector<PlanKernel> kernels;   // by stage, most time first
};
void Describe(Record<DeepPlan>& r);

// Launches outside of every stage have this one.
inline constexpr char kNoStage[] = "all";

Result<DeepPlan> MakePlan(Analysis& analysis, const std::string& run_id, int64_t top_n);

}  // namespace nl::deep
