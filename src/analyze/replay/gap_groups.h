// SPDX-License-Identifier: Apache-2.0
#pragma once
// GapGroups: the host code of the steady steps by where it is: the range it lies in, or the operators
// before and after it. The same code is one group in all steps. Pieces of one stretch (host_stretches.h) are
// one group too, with the copies that carry its data.
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
  int64_t op_ns = 0;           // of that operator
  int64_t ns = 0;              // of all steps
  std::vector<uint32_t> gaps;  // places in StepReplay::gaps()
  // Copies from and to pageable memory that belong to it, of all steps.
  std::vector<uint32_t> copies;        // the operators and calls that make them
  int64_t to_host = 0, to_device = 0;  // how many
  int64_t copies_ns = 0;               // of the host, in these operators and calls
  int64_t bytes = 0;
};

// Most time first.
std::vector<GapGroup> GroupGaps(const StepReplay& steps);

}  // namespace nl::replay
