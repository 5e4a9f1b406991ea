// SPDX-License-Identifier: Apache-2.0
#pragma once
// HostStretches: host code of the steady steps that belongs together, because the thread starts no kernel
// in between: what fetches data, computes on the host and sends the result back is one stretch, however
// many pieces the copies in it make of the host code.
// Thread rule: pure functions. Ownership: plain values.

#include <cstdint>
#include <vector>

#include "analyze/replay/step_replay.h"

namespace nl::replay {

struct HostStretch {
  std::vector<uint32_t> gaps;          // places in StepReplay::gaps(), by time
  std::vector<uint32_t> copies;        // operators and calls that copy its data from or to pageable memory
  int64_t to_host = 0, to_device = 0;  // such copies
  int64_t bytes = 0;
};

// Every gap is in one stretch. Gaps inside a range of the program's own are alone: the range says what they
// are for.
std::vector<HostStretch> FindHostStretches(const StepReplay& steps);

}  // namespace nl::replay
