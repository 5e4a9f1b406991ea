// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plan: the kernels of a timeline that counters are collected for, and which launch of each. A group is the
// launches of one kernel with one grid, block and set of input shapes in one stage; the groups with the most
// device time of every stage are taken; launches outside of every stage only where they are among the most of
// the whole run.
//
// Which launch is measured: Nsight Compute takes one filter for functions and one for numbers of launches
// (--kernel-id), which it counts per function, grid, block and shared memory; every number applies to all of
// them, and each result takes about a second. The numbers are chosen such that every selected kernel is
// measured by a launch of its own shapes or duration, as many as possible by one that is suitable: after the
// warm-up and within 10 % of the median duration, with as few results as possible. The warm-up is
// the first instance of the stage; for launches outside of stages, what runs before the steady phase.
// Launches are counted as ncu counts them: per process, in the order of the calls that launch, within the
// NVTX ranges that a timeline is of.
//
// Thread rule: plain values; MakePlan is one call on one thread.

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
  std::optional<int64_t> launch_number;
  bool suitable = false;     // that launch is after the warm-up and near the median
  bool same_shapes = false;  // it is one of this group
  int64_t kernel_id = 0;     // row in table kernel: that launch, or the median one of the group
};
void Describe(Record<PlanKernel>& r);

struct PlanStage {
  std::string name;
  int64_t groups = 0, selected = 0;
  double total_ms = 0, selected_ms = 0;
};
void Describe(Record<PlanStage>& r);

struct DeepPlan {
  int64_t plan_version = 2;
  std::string run_id;
  int64_t top_n = 0;
  double device_ms = 0, selected_ms = 0;
  std::vector<int64_t> launch_numbers;  // ascending
  int64_t measured_launches = 0;
  std::vector<PlanStage> stages;    // in order of first launch
  std::vector<PlanKernel> kernels;  // by stage, most time first
};
void Describe(Record<DeepPlan>& r);

// Launches outside of every stage have this one.
inline constexpr char kNoStage[] = "all";

Result<DeepPlan> MakePlan(Analysis& analysis, const std::string& run_id, int64_t top_n);

}  // namespace nl::deep
