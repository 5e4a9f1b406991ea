// SPDX-License-Identifier: Apache-2.0
#pragma once
// Replay: what a run's wall would be if some of its calls were not made, or took another
// time. The graph of what waited for what (the critical path's: host threads, streams,
// launches, blocking calls, hand-overs, collectives) is scheduled again without their time:
// what the device did while the host was busy anyway costs nothing, and what keeps both
// busy costs once.
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
  // Factors: of the time of its device work, and of the time the host took to get there. Below 0: not made
  // at all, with its launches and waits.
  double device = 1, host = 1;
};
inline constexpr double kNotMade = -1;

// The graph of a run for its replay. Reads the timeline and the columns alone, so that it may be made beside
// other work on the same run.
std::shared_ptr<const PathGraph> GraphOf(const RunData& data, const TimelineFacts& timeline);
using GraphToCome = std::shared_future<std::shared_ptr<const PathGraph>>;

class Replay {
 public:
  // Null without device work, or where the sequence leaves some of it out.
  static std::unique_ptr<Replay> Make(const CallSequence& sequence, std::shared_ptr<const PathGraph> graph);

  // By how much the wall is longer as recorded than with these edits, with a host that takes `host_speed`
  // times as long everywhere.
  int64_t CostNs(const std::vector<CallEdit>& edits, double host_speed = 1) const;
  // Of a call's device work, overlap or not.
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
