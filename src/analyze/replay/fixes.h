// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fixes: what a change of the program does to a plan of its steps (step_replay.h). A rule names the fix, the
// things it changes and how much of their time is left.
//
// graphs   every launch thread needs nothing but its host code: kernels are launched by one call
// sync     calls do not wait for the device; an operator that only fetches values is gone
// remove   calls and operators are gone, with their waits and their device work
// pinned   copies run beside the kernels, at the rate of pinned memory, and do not hold the host
// host     host code is gone, with the copies that carry its data
// kernels  device work takes the share `left` of its time
// fuse     device work and the host time of its operators take the share `left`
// batch    everything takes the share `left`
// loop     calls, their device work and the host code from one to the next take the share `left`
// streams  kernels of different streams do not wait for each other; together they fill the device to `left`
// Thread rule: pure functions.

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "analyze/replay/fix_targets.h"
#include "analyze/replay/step_replay.h"

namespace nl::replay {

enum class FixKind : uint8_t {
  kGraphs,
  kSync,
  kRemove,
  kPinned,
  kHost,
  kKernels,
  kFuse,
  kBatch,
  kLoop,
  kStreams
};
std::span<const std::string_view> FixNames();
std::optional<FixKind> ParseFix(std::string_view name);

struct FixChange {
  FixKind kind = FixKind::kGraphs;
  FixTargets targets;
  double left = 0;  // share of their time that stays, from 0 to 1
};

// Changes the plan. What a fix before it has taken from the plan is not taken again.
void ApplyFix(const StepReplay& steps, FixKind kind, const FixTargets& targets, double left, Plan& plan);
inline void ApplyFix(const StepReplay& steps, const FixChange& change, Plan& plan) {
  ApplyFix(steps, change.kind, change.targets, change.left, plan);
}
// Whether a fix of the plan has removed this call or its waits.
bool IsFixed(const StepReplay& steps, const Plan& plan, uint32_t node);

}  // namespace nl::replay
