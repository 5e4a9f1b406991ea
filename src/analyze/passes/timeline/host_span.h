// SPDX-License-Identifier: Apache-2.0
#pragma once
// HostSpan: a span on a host thread before it is nested.
// Thread rule: plain values.

#include <tuple>
#include <vector>

#include "analyze/facts/timeline.h"

namespace nl::passes::timeline {

struct HostSpan {
  int64_t start_ns, end_ns;
  uint32_t row;
  HostKind kind;
  bool inferred = false;  // a copy of the row: recorded elsewhere (complete_ops.h)
};

// Outer before inner: earlier start, later end, then the kinds from range to API call.
inline bool Before(const HostSpan& a, const HostSpan& b) {
  if (a.start_ns != b.start_ns) return a.start_ns < b.start_ns;
  if (a.end_ns != b.end_ns) return a.end_ns > b.end_ns;
  return std::tie(a.kind, a.row) < std::tie(b.kind, b.row);
}

using HostLanes = std::vector<std::vector<HostSpan>>;  // by thread + 1; 0: no thread

}  // namespace nl::passes::timeline
