// SPDX-License-Identifier: Apache-2.0
#pragma once
// The timeline section of a report: one lane per stream and per host thread, spans as
// columns, few enough for a page. Spans that share a pixel at full zoom are merged; the section
// says how many there were and what was merged.
// Thread rule: pure functions.

#include <cstdint>

#include "analyze/facts/timeline.h"
#include "analyze/run_data.h"
#include "base/json.h"

namespace nl {

struct TimelineLimits {
  size_t max_events = 60'000;
  int64_t full_zoom_px = 20'000;
};

// {wall_us, events_total, events_drawn, merged_below_us, categories[], names[], lanes[{name,
// kind, depth_max, start_us[], dur_us[], name_id[], category[], depth[], count[]}]}.
// merged_below_us is null when every span is there; `count` is then left out. A merged span
// carries the name of the longest one in it.
Json TimelineJson(const TimelineFacts& timeline, const RunData& data, const TimelineLimits& limits = {});

}  // namespace nl
