// SPDX-License-Identifier: Apache-2.0
#pragma once
// What ran in a window, added up by name, by table and by lane over all spans of the run that reach into it.
// Times are cut at the edges of the window; `covered_ns` counts time once where spans overlap.
// Thread rule: a pure function over a constant Timeline; reads row groups on a few threads of its own.

#include <atomic>
#include <string>
#include <vector>

#include "timeline/timeline.h"

namespace nl {

struct SpanTotals {
  int64_t count = 0;                     // spans that reach into the window
  int64_t total_ns = 0, covered_ns = 0;  // inside the window
  int64_t all_ns = 0, longest_ns = 0;    // whole durations: their sum, and the longest
};
struct SpanNameTotals {
  StringId name{};  // of RunSpans; CPU samples with the same innermost frame are under one of their stacks
  SpanTotals totals;
};
struct SpanLaneTotals {
  LaneSlot slot = 0;
  SpanTotals totals;  // covered_ns is without ranges, which label time: they count in a lane of nothing else
};
struct WindowTotals {
  std::vector<SpanNameTotals> names;             // most time first, then most spans, then by table and text
  std::array<SpanTotals, kSpanTables> tables{};  // by SpanTable
  std::vector<SpanLaneTotals> lanes;             // by slot; those with spans in the window
};

struct TotalsRequest {
  int64_t from_ns = 0, to_ns = 0;
  std::vector<char> slots;  // by slot: wanted; empty: all
};
Result<WindowTotals> AddUpWindow(const Timeline& timeline, const TotalsRequest& request,
                                 const std::atomic<bool>* cancelled);

}  // namespace nl
