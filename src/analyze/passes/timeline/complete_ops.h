// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operators of steps in which they were not observed (model/labels/observed_label.h), inferred from those in
// which they were: where a thread makes the same calls in the same order, it runs the same operators.
//
// The calls of a thread, each with the name of the work it launches, and the labels around them are a
// sequence. From its beginning, an unobserved stretch takes the longest stretch of calls that was observed
// somewhere in the process, as text is unpacked from what was seen before. Operators and inner modules around
// and between those calls are copied; where they begin and end is interpolated between the calls, which were
// recorded in both. A call without a match has the operators that all observed calls of that kind with that
// work have. What is copied refers to the row it is a copy of (program::IsInferred); its times are good for
// order and nesting, but they were not measured.
//
// Thread rule: pure function. O(n log n).

#include "analyze/passes/timeline/host_span.h"
#include "analyze/run_data.h"

namespace nl::passes::timeline {

inline constexpr Reads kCompleteOpsReads =
    NL_READS(Thread, process_id) | NL_READS(Range, thread_id, start_ns, dur_ns, name, category) |
    NL_READS(ApiCall, name) | NL_READS(Op, name) | NL_READS(Kernel, name, api_call_id) |
    NL_READS(Memcpy, name, api_call_id) | NL_READS(Memset, name, api_call_id);

// `lanes` are sorted, and are so afterwards. Nothing is done where all operators were observed.
void CompleteOps(const RunData& data, HostLanes& lanes);

}  // namespace nl::passes::timeline
