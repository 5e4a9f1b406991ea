// SPDX-License-Identifier: Apache-2.0
#pragma once
// Replay: the wall time of a run if some of its calls were not made or had a different
// duration. The wait graph of the critical path (host threads, streams, launches, blocking
// calls, thread handovers, collectives) is scheduled again without their time: device work
// during which the host was busy anyway costs nothing, and work that keeps both busy costs once.
// Thread rule: read-only once made; two replays may run at once. Ownership: refers to the
// sequence and the timeline, shares the graph.

#include <future>
#include <memory>
#include <vector>

#include "analyze/compare/sequence/call_sequence.h"

namespace nl {
struct PathGraph;
}

namespace nl::compare {

struct CallEdit {
  uint32_t call;
  // Factors on the device time of the call and on the host time before it. Below 0: the call is not made,
  // nor are its launches and waits.
  double device = 1, host = 1;
};
inline constexpr double kRemoved = -1;

// The wait graph of a run. Only reads the timeline and the columns, so that it can be built while other
// threads use the run.
std::shared_ptr<const PathGraph> GraphOf(const RunData& data, const TimelineFacts& timeline);
using GraphFuture = std::shared_future<std::shared_ptr<const PathGraph>>;

class Replay {
 public:
  // Null without device work, or if the sequence leaves some of it out.
  static std::unique_ptr<Replay> Make(const CallSequence& sequence, std::shared_ptr<const PathGraph> graph);

  // The recorded wall minus the wall with these edits, on a host that takes `host_speed` times as long
  // everywhere.
  int64_t CostNs(const std::vector<CallEdit>& edits, double host_speed = 1) const;
  // Device time of a call, including overlap.
  int64_t DeviceNs(uint32_t call) const { return device_ns_[call]; }
  size_t points() const;

 private:
  struct Weights;
  Replay(const CallSequence& sequence, const TimelineFacts& timeline, std::shared_ptr<const PathGraph> graph);
  Weights Plain(double host_speed) const;
  void Apply(const std::vector<CallEdit>& edits, Weights& to) const;
  int64_t EndNs(const Weights& weights) const;

  const CallSequence& sequence_;
  const TimelineFacts& t_;
  std::shared_ptr<const PathGraph> graph_;
  std::vector<int64_t> device_ns_;     // by call
  std::vector<uint32_t> first_point_;  // by thread: its host points [first, next)
  int64_t end_ns_ = INT64_MIN;         // of the last point, as recorded
};

}  // namespace nl::compare
