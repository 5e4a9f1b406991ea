// SPDX-License-Identifier: Apache-2.0
#pragma once
// Time accounting per device: interval unions, never sums of durations. Overlap is
// reported, concurrency kept, nothing clipped.
// Thread rule: pure functions over the snapshot's columns.

#include <optional>
#include <string>
#include <vector>

#include "analyze/facts/timeline.h"
#include "base/intervals.h"
#include "base/result.h"
#include "ledger/snapshot.h"

namespace nl {

struct WorkInterval {
  int64_t start_ns, end_ns;
  WorkClass work;
};

// How long each class ran, and how long two or more ran at once. busy = compute +
// communication + memory - (their overlaps); idle = wall - busy - paused, exactly.
struct DeviceTime {
  int32_t device = 0;
  int32_t rank = NullOf<int32_t>::value;  // null in a run of one rank
  int64_t wall_ns = 0, busy_ns = 0;
  int64_t compute_ns = 0, communication_ns = 0, memory_ns = 0;
  int64_t overlap_ns = 0;  // at least two classes at once
  int64_t paused_ns = 0;   // not busy while nothing was recorded: neither busy nor idle
  int64_t events = 0;
  int64_t idle_ns() const { return wall_ns - busy_ns - paused_ns; }
  // Busy of what was recorded; null when that is nothing.
  std::optional<double> Utilization() const {
    if (wall_ns <= paused_ns) return std::nullopt;
    return static_cast<double>(busy_ns) / static_cast<double>(wall_ns - paused_ns);
  }
};

// One sweep over the intervals of one device; `pauses` of the recording, merged, within the wall.
DeviceTime AccountDevice(std::vector<WorkInterval> work, int64_t wall_ns,
                         const std::vector<Interval>& pauses = {});

// The run's time: first start to last end over every span, and each device in it.
struct RunTime {
  int64_t first_start_ns = 0, last_end_ns = 0;
  int64_t wall_ns() const { return last_end_ns - first_start_ns; }
  std::vector<DeviceTime> devices;  // by rank and index
};
Result<RunTime> AccountRun(Snapshot& snapshot, const std::vector<Interval>& pauses = {});

}  // namespace nl
