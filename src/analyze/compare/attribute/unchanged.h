// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which of the unchanged work took a different time for a reason, and which by chance.
// Groups are the same call at the same place of the program (what came before it tells one
// from another); a group counts when its instances agree, beyond what all the others show.
// Thread rule: pure functions.

#include <cstdint>
#include <vector>

#include "analyze/compare/attribute/changes.h"

namespace nl::compare {

struct UnchangedInput {
  const CallSequence &a, &b;
  const Alignment& alignment;
  const Drift& drift;
  const std::vector<bool>& only;  // positions that count; empty: all
  bool device_time;               // judged against device time instead of the wall
};

enum class CommonCause : uint8_t { kNone, kClock };

struct GroupVerdict {
  std::vector<uint32_t> pairs;  // positions in Alignment::calls
  int64_t delta_ns = 0;
  double p_value = 1;
  bool significant = false;
  CommonCause common = CommonCause::kNone;  // what all of them share
};

// The device time of `pairs`; the host time of `pairs`, both in order. Comes back: what differs for a reason;
// the other pairs do so by chance.
std::vector<GroupVerdict> JudgeDevice(const UnchangedInput& in, const std::vector<uint32_t>& pairs);
std::vector<GroupVerdict> JudgeHost(const UnchangedInput& in, const std::vector<uint32_t>& pairs);

}  // namespace nl::compare
