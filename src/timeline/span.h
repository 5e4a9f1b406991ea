// SPDX-License-Identifier: Apache-2.0
#pragma once
// The spans of a timeline and the order they are drawn in. A lane is a thread of the run (a host thread, or a
// stream of a device as the source draws it); what would not nest with its spans, CPU samples and
// asynchronous ranges, has lanes of its own. Times are ns from the zero of the timeline. Thread rule: values.

#include <array>
#include <bit>
#include <cstdint>
#include <string_view>

#include "model/ids.h"

namespace nl {

enum class SpanTable : uint8_t {
  kKernel,
  kMemcpy,
  kMemset,
  kSync,
  kApiCall,
  kOp,
  kPythonCall,
  kRange,
  kCpuSample
};
inline constexpr size_t kSpanTables = 9;
// The numbers are part of the tile format (docs/formats/tile.md).
inline constexpr std::array<const char*, kSpanTables> kSpanTableNames = {
    "kernel", "memcpy", "memset", "sync", "api_call", "op", "python_call", "range", "cpu_sample"};

struct Span {
  int64_t start_ns = 0, dur_ns = 0;
  uint64_t owner = 0;  // table and row, see OwnerOf
  StringId name = StringId::kNull;

  int64_t end_ns() const { return start_ns + dur_ns; }
  SpanTable table() const { return static_cast<SpanTable>(owner >> 56); }
  int64_t row() const { return static_cast<int64_t>(owner & ((uint64_t{1} << 56) - 1)); }
};
inline uint64_t OwnerOf(SpanTable table, int64_t row) {
  return static_cast<uint64_t>(table) << 56 | static_cast<uint64_t>(row);
}

// What encloses comes first: by start, the longest first, then ranges, Python, operators, API calls.
inline bool DrawnBefore(const Span& a, const Span& b) {
  constexpr std::array<uint8_t, kSpanTables> kOutermost = {4, 5, 6, 7, 3, 2, 1, 0, 8};
  if (a.start_ns != b.start_ns) return a.start_ns < b.start_ns;
  if (a.dur_ns != b.dur_ns) return a.dur_ns > b.dur_ns;
  const uint8_t x = kOutermost[static_cast<size_t>(a.table())],
                y = kOutermost[static_cast<size_t>(b.table())];
  return x != y ? x < y : a.owner < b.owner;
}
inline constexpr auto kDrawnBefore = [](const Span& a, const Span& b) { return DrawnBefore(a, b); };

// Whether a span has a part in [from, to). One without a duration is where it starts.
inline bool Reaches(const Span& s, int64_t from_ns, int64_t to_ns) {
  return s.start_ns < to_ns && (s.end_ns() > from_ns || s.start_ns >= from_ns);
}

// Buckets of level n are 4^n ns long. A span belongs to the buckets of every level whose buckets are more
// than twice as long as the span; this is the first such level.
inline unsigned FirstLevel(int64_t dur_ns) {
  return static_cast<unsigned>(std::bit_width(static_cast<uint64_t>(dur_ns) * 2) + 1) / 2;
}
inline constexpr unsigned kMostLevels = 32;
inline int64_t BucketNs(unsigned level) { return int64_t{1} << (2 * level); }
inline int64_t BucketOf(int64_t at_ns, unsigned level) {
  return at_ns >> (2 * level);
}  // floor, also below 0
// Spans this long or longer are not in the buckets of a level: they are listed themselves.
inline int64_t ExactFromNs(unsigned level) { return level == 0 ? 1 : BucketNs(level) / 2; }

// Lanes by number: three for each thread of the run and for what has none.
enum class LaneUse : uint8_t { kSpans, kAsync, kSamples };
using LaneSlot = uint32_t;
inline LaneSlot SlotOf(int64_t thread, LaneUse use) {
  return static_cast<LaneSlot>((IsNull(thread) ? 0 : thread + 1) * 3 + static_cast<int64_t>(use));
}
inline int64_t ThreadOf(LaneSlot slot) { return slot < 3 ? NullOf<int64_t>::value : int64_t{slot} / 3 - 1; }
inline LaneUse UseOf(LaneSlot slot) { return static_cast<LaneUse>(slot % 3); }

}  // namespace nl
