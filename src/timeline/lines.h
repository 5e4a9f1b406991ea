// SPDX-License-Identifier: Apache-2.0
#pragma once
// The lines of a timeline: counters and allocated memory, read before it is known where they are drawn.
// Thread rule: a pure function over constant spans; it may run beside whatever reads the overview.

#include <vector>

#include "timeline/lanes.h"

namespace nl {

struct LineLane {
  int64_t process = 0;  // row of the table process; null: of none
  LaneNode node;
};
Result<std::vector<LineLane>> ReadLines(const RunSpans& spans);

}  // namespace nl
