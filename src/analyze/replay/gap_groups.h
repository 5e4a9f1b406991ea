// SPDX-License-Identifier: Apache-2.0
#pragma once
// GapGroups: the host code of the steady steps by where it is: the range it lies in, or the operators
// before and after it. The same code is one group in all steps.
// Thread rule: pure functions. Ownership: plain values.

#include <cstdint>
#include <string>
#include <vector>

#include "analyze/replay/step_replay.h"

namespace nl::replay {

struct GapGroup {
  std::string place;           // "between aten::argmax and aten::embedding", "in DataLoader"
  bool is_loader = false;      // of a data loader
  std::string op;              // the operator that computes on the host; empty: code outside of operators
  int64_t ns = 0;              // of all steps
  std::vector<uint32_t> gaps;  // places in StepReplay::gaps()
};

// Most time first.
std::vector<GapGroup> GroupGaps(const StepReplay& steps);

}  // namespace nl::replay
