// SPDX-License-Identifier: Apache-2.0
#pragma once
// Search over all spans of a run by name: how many match, and which are next to a time.
// Thread rule: pure functions over a constant Timeline.

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "timeline/timeline.h"

namespace nl {

struct FoundName {
  StringId name{};
  int64_t count = 0;
};
struct FoundSpan {
  Span span;
  LaneSlot slot = 0;
};
struct Found {
  int64_t total = 0;
  std::vector<FoundName> names;  // most spans first, then by text
  // Spans that start at or after the time, the nearest first; and those that start before it.
  std::vector<FoundSpan> next, previous;
};

struct FindRequest {
  std::function<bool(std::string_view name)> matches;
  int64_t from_ns = 0;
  size_t limit = 1;         // of next, and of previous
  std::vector<char> slots;  // by slot: wanted; empty: all
};
Result<Found> FindSpans(const Timeline& timeline, const FindRequest& request,
                        const std::atomic<bool>* cancelled);

}  // namespace nl
