// SPDX-License-Identifier: Apache-2.0
#pragma once
// The device half of the timeline and the time a run spans. The timeline pass fills its facts with
// these, and AccountRun (analyze/accounting.h) needs nothing else, so both see the same work, the same
// devices and the same wall time.
// Thread rule: pure functions over the columns of a run.

#include "analyze/facts/timeline.h"
#include "analyze/run_data.h"

namespace nl {

// Fills devices, streams, work and kernel_names, and counts rows without a time in `untimed`.
// `launch` and `op` of the work stay kNone: linking needs the host tree.
inline constexpr Reads kDeviceWorkReads = NL_READS(Process, rank) | NL_READS(Thread, process_id) |
                                          NL_READS(Kernel, start_ns, dur_ns, device, name) |
                                          NL_READS(Memcpy, start_ns, dur_ns, device, name) |
                                          NL_READS(Memset, start_ns, dur_ns, device, name);
// Needed as well where processes have ranks.
inline constexpr Reads kWorkRankReads =
    NL_READS(Kernel, thread_id) | NL_READS(Memcpy, thread_id) | NL_READS(Memset, thread_id);
// Needed as well where streams matter.
inline constexpr Reads kWorkStreamReads =
    NL_READS(Kernel, context, stream) | NL_READS(Memcpy, context, stream) | NL_READS(Memset, context, stream);
void BuildDeviceWork(const RunData& data, TimelineFacts& out);

// Sets first_start_ns and last_end_ns over every table of spans; of a run without device work also over its
// program and its CPU samples, where they are declared.
inline constexpr Reads kBoundsReads =
    NL_READS(Kernel, start_ns, dur_ns) | NL_READS(Memcpy, start_ns, dur_ns) |
    NL_READS(Memset, start_ns, dur_ns) | NL_READS(Sync, start_ns, dur_ns) |
    NL_READS(ApiCall, start_ns, dur_ns) | NL_READS(Op, start_ns, dur_ns) |
    NL_READS(PythonCall, start_ns, dur_ns) | NL_READS(Range, start_ns, dur_ns);
inline constexpr Reads kSampleBoundsReads =
    NL_READS(CpuSample, thread_id, start_ns, weight_ns) | NL_READS(ThreadLife, start_ns, dur_ns);
void FindBounds(const RunData& data, TimelineFacts& out);

}  // namespace nl
