// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the wall time went, in parts that sum to the whole, and the verdict: the one
// sentence a reader should take away. Both are computed from the facts, once, for every form
// of the report.
// Thread rule: pure functions.

#include <string>

#include "analyze/facts/accounting.h"
#include "analyze/facts/timeline.h"
#include "base/json.h"

namespace nl {

// [{what, label, ms, share, idle}] of the devices' wall time (all devices together), or of
// the busiest thread's when no device worked. `idle_section` (host_ms, launch_ms, sync_ms,
// other_ms) splits the idle time; null leaves it whole. ms sum to the wall exactly.
Json BreakdownJson(const TimelineFacts& timeline, const DeviceAccounts& accounts, const Json& idle_section);

// From the finished report model (wall_ms, devices, breakdown, diagnosis, idle).
std::string VerdictText(const Json& report);

}  // namespace nl
