// SPDX-License-Identifier: Apache-2.0
#pragma once
// Time accounting of devices: interval unions, never sums of durations. This is the only place where
// device time is added up: passes/accounting calls AccountDevices over the whole timeline, `summary`
// calls AccountRun, which loads only the columns it needs and answers in a fraction of the time.
// Thread rule: pure functions over the columns of a run.

#include <vector>

#include "analyze/facts/accounting.h"
#include "analyze/facts/timeline.h"
#include "base/intervals.h"
#include "base/result.h"
#include "ledger/snapshot.h"

namespace nl {

// Each device from the first start to the last end of the run; `pauses` of the recording, merged.
// The parts of every device sum to the wall time; anything else is an Internal error.
Result<DeviceAccounts> AccountDevices(const TimelineFacts& timeline, const std::vector<Interval>& pauses);

struct RunTime : DeviceAccounts {
  int64_t wall_ns = 0;
  std::vector<DeviceKey> keys;  // of the devices, by rank and index
};
Result<RunTime> AccountRun(Snapshot& snapshot, const std::vector<Interval>& pauses = {});

}  // namespace nl
