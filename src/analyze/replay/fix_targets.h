// SPDX-License-Identifier: Apache-2.0
#pragma once
// FixTargets: what a fix changes, as positions in the facts of the timeline.
// Thread rule: plain values.

#include <cstdint>
#include <vector>

namespace nl::replay {

struct FixTargets {
  std::vector<uint32_t> nodes;  // operators and calls
  std::vector<uint32_t> works;
  std::vector<uint32_t> gaps;  // places in StepReplay::gaps()
  bool operator==(const FixTargets&) const = default;
  bool empty() const { return nodes.empty() && works.empty() && gaps.empty(); }
};

}  // namespace nl::replay
