// SPDX-License-Identifier: Apache-2.0
#pragma once
// The timeline section of a report: one lane per stream and per host thread, spans as
// columns, few enough for a page. Spans that share a pixel at full zoom are merged; the section
// says how many there were and what was merged.
// Thread rule: pure functions.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/facts/timeline.h"
#include "analyze/run_data.h"
#include "base/record.h"

namespace nl {

enum class LaneKind : uint8_t { kDevice, kHost };
std::span<const std::string_view> NamesOf(LaneKind);

// The columns are of equal length.
struct ReportLane {
  std::string name;
  LaneKind kind = LaneKind::kHost;
  int64_t depth_max = 0;
  std::vector<double> start_us, dur_us;
  std::vector<int64_t> name_id, category, depth;
  std::optional<std::vector<int64_t>> count;  // empty: no span was merged
};
void Describe(Record<ReportLane>& r);

struct ReportTimeline {
  double wall_us = 0;
  int64_t events_total = 0, events_drawn = 0;
  std::optional<double> merged_below_us;
  std::vector<std::string> categories, names;
  std::vector<ReportLane> lanes;
};
void Describe(Record<ReportTimeline>& r);

struct TimelineLimits {
  size_t max_events = 60'000;
  int64_t full_zoom_px = 20'000;
};

// "rank 1 GPU 0 stream 7"; `stream` is a position in TimelineFacts::streams.
std::string StreamLaneName(const TimelineFacts& timeline, size_t stream);
// "rank 1 main thread", or "thread 42" without a name. Reads Thread process_id, tid, name and Process rank.
std::string ThreadLaneName(const RunData& data, ThreadId thread);

// A merged span carries the name of the longest one in it.
ReportTimeline TimelineOf(const TimelineFacts& timeline, const RunData& data,
                          const TimelineLimits& limits = {});

}  // namespace nl
