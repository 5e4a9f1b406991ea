// SPDX-License-Identifier: Apache-2.0
#pragma once
// Unchanged calls with a different duration: which differ consistently, and which by chance.
// A group is the same call at the same place in the program (identified by the calls before
// it); it counts when its instances agree, by more than all other groups vary.
// Thread rule: pure functions.

#include <cstdint>
#include <vector>

#include "analyze/compare/attribute/changes.h"

namespace nl::compare {

struct UnchangedInput {
  const CallSequence &a, &b;
  const Alignment& alignment;
  const Drift& drift;
  const std::vector<bool>& only;  // positions to include; empty: all
  bool device_time;               // relative to device time instead of the wall
};

enum class CommonCause : uint8_t { kNone, kClock };

struct GroupVerdict {
  std::vector<uint32_t> pairs;  // positions in Alignment::calls
  int64_t delta_ns = 0;
  double p_value = 1;
  bool significant = false;
  CommonCause common = CommonCause::kNone;  // what they have in common
};

// Judge the device time or the host time of `pairs`, which are in order. They return the groups that differ
// consistently; all other pairs differ by chance.
std::vector<GroupVerdict> JudgeDevice(const UnchangedInput& in, const std::vector<uint32_t>& pairs);
std::vector<GroupVerdict> JudgeHost(const UnchangedInput& in, const std::vector<uint32_t>& pairs);

}  // namespace nl::compare
