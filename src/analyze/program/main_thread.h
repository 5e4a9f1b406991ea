// SPDX-License-Identifier: Apache-2.0
#pragma once
// The thread whose time explains start-up, and when its program began: where start-up begins.
// Thread rule: pure functions.

#include <cstdint>

#include "analyze/facts/timeline.h"
#include "analyze/run_data.h"

namespace nl::program {

inline constexpr Reads kMainThreadReads = NL_READS(Thread, process_id, tid) | NL_READS(Process, pid) |
                                          NL_READS(ThreadLife, thread_id, start_ns) |
                                          NL_READS(CpuSample, thread_id, start_ns);

struct MainThread {
  ThreadId thread = ThreadId::kNull;  // null: none is known
  ThreadId first = ThreadId::kNull;   // main thread of its process, which works before that one exists
  int64_t start_ns = INT64_MAX;       // of the program or its first sample; INT64_MAX: not known
};

// The thread that launches the first device work, in the process that launches most of it; without recorded
// launches the main thread of the program, else the one with the most samples or the most recorded spans.
MainThread FindMainThread(const RunData& data, const TimelineFacts& timeline);

}  // namespace nl::program
