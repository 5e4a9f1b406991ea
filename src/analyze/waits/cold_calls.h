// SPDX-License-Identifier: Apache-2.0
#pragma once
// ColdCalls: API calls that took long because something happened for the first time in the process:
// creating the context, loading a module, the first launch of a kernel, making a graph. Steady work has
// none of them.
// Thread rule: read-only once built.

#include <map>
#include <vector>

#include "analyze/facts/timeline.h"
#include "base/intervals.h"
#include "model/string_pool.h"

namespace nl {

// Between StreamBeginCapture and StreamEndCapture of a thread its work is recorded into a graph and nothing
// runs. The end of a capture that was not seen to end is INT64_MAX.
std::map<ThreadId, std::vector<Interval>> GraphCaptures(const StringPool& strings, const HostTree& host);

class ColdCalls {
 public:
  ColdCalls(const StringPool& strings, const TimelineFacts& timeline);

  // Of a node of the host tree: itself cold, inside a call that is, or in the capture of a graph.
  bool Is(uint32_t node) const { return cold_[node]; }

 private:
  void MarkLongCalls(const StringPool& strings, const HostTree& host);
  void MarkFirstLaunches(size_t names, const TimelineFacts& timeline);
  void MarkCaptures(const StringPool& strings, const HostTree& host);
  void MarkInside(const HostTree& host);

  std::vector<bool> cold_;  // by node
};

}  // namespace nl
