// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the wall time went, in parts that sum to the whole, and the verdict: the one
// sentence a reader should take away. Both are computed from the facts, once, for every form
// of the report.
// Thread rule: pure functions.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/facts/accounting.h"
#include "analyze/facts/idle.h"
#include "analyze/facts/samples.h"
#include "analyze/facts/timeline.h"
#include "base/record.h"

namespace nl {

struct Report;

enum class ReportPartKind : uint8_t {
  kCompute,
  kCommunication,
  kMemory,
  kOverlap,
  kIdle,
  kIdleHost,
  kIdleLaunch,
  kIdleSync,
  kIdleStartup,
  kIdleOther,
  kIdleEdges,
  kPaused,
  kOp,
  kPython,
  kRange,
  kApi,
  kNothing,
  kRunPython,
  kRunNative,
  kRunSystem,
  kWait,
  kUnsampled,
};
std::span<const std::string_view> NamesOf(ReportPartKind);

struct ReportPart {
  ReportPartKind what = ReportPartKind::kIdle;
  std::string label;
  double ms = 0, share = 0;
  bool idle = false;
};
void Describe(Record<ReportPart>& r);

// The devices' wall time (all devices together); when no device worked, what CPU samples say of the wall
// time, or without them the busiest thread's. `idle` splits the idle time; null leaves it whole. ms sum to
// the wall exactly.
std::vector<ReportPart> BreakdownOf(const TimelineFacts& timeline, const DeviceAccounts& accounts,
                                    const IdlePartsMs* idle, const SampledTime* sampled = nullptr);

// From wall_ms, devices, breakdown and diagnosis of the report.
std::string VerdictText(const Report& report);

}  // namespace nl
