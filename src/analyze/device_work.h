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
// Of kernel, memcpy and memset it needs start_ns, dur_ns, device and name; thread_id where processes
// have ranks; stream and context where streams matter.
void BuildDeviceWork(const RunData& data, TimelineFacts& out);

// Sets first_start_ns and last_end_ns over every table of spans, by start_ns and dur_ns alone; of a run
// without spans over its CPU samples, by thread_id, start_ns and weight_ns.
void FindBounds(const RunData& data, TimelineFacts& out);

}  // namespace nl
