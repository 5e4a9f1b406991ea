// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tree of lanes of a run: processes, their devices and streams, their threads, and lines (counters,
// memory). A lane's number is its place in drawing order, parents first; it never changes for a run.
// Thread rule: constant once made.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "timeline/overview.h"
#include "timeline/run_spans.h"

namespace nl {

enum class TimelineLaneKind : uint8_t {
  kProcess,
  kDevice,
  kStream,
  kThread,
  kAsync,
  kSamples,
  kStacks,
  kCounter,
  kMemory
};
std::span<const std::string_view> NamesOf(TimelineLaneKind);

struct LaneNode {
  std::optional<int64_t> parent;  // place of its parent
  TimelineLaneKind kind{};
  std::string name;
  std::optional<LaneSlot> slot;  // lanes with spans
  std::optional<size_t> line;    // lines: place among them
  std::optional<size_t> strip;   // stacks of CPU samples: place among the strips
  int64_t depths = 0, count = 0;
  std::optional<int64_t> first_ns, last_ns;
};

struct Line;        // timeline/lines.h
class FlameStrips;  // timeline/strips.h
Result<std::vector<LaneNode>> BuildLanes(const RunSpans& spans, const Overview& overview,
                                         const std::vector<Line>& lines, const FlameStrips& strips);

}  // namespace nl
