// SPDX-License-Identifier: Apache-2.0
#pragma once
// Table `thread_life`: what a recorder knows of a host thread as a whole, beyond its samples.

#include "model/table.h"

// clang-format off
#define NL_THREAD_LIFE_COLUMNS(X) \
  X(ThreadId, thread_id, kDict, "", "The thread (thread.id)") \
  X(int64_t, start_ns, kDelta, "ns", "Start of its program, of a main thread; null otherwise") \
  X(int64_t, dur_ns, kDict, "ns", "From there to the end of the program; null when it was not seen") \
  X(int64_t, gil_held_ns, kDict, "ns", "Sampled time in which it held Python's global interpreter lock; null: not a Python thread") \
  X(int64_t, gil_wait_ns, kDict, "ns", "Sampled time in which it waited for that lock; null: not a Python thread") \
  X(StringId, gil_holder, kDict, "", "Python function in which it held the lock longest")
// clang-format on

namespace nl {
NL_TABLE(ThreadLife, "thread_life", thread_id,
         "What a recorder knows of a host thread as a whole, beyond its samples", NL_THREAD_LIFE_COLUMNS)
}  // namespace nl
