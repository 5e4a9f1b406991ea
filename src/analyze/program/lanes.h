// SPDX-License-Identifier: Apache-2.0
#pragma once
// Thread rule: pure function.

#include <cstddef>

#include "model/ids.h"

namespace nl::program {

// Position of a thread in a table of threads: the null thread is the first.
inline size_t LaneOf(ThreadId thread) {
  return static_cast<size_t>(IsNull(thread) ? 0 : static_cast<int32_t>(thread) + 1);
}

}  // namespace nl::program
