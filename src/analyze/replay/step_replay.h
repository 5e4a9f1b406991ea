// SPDX-License-Identifier: Apache-2.0
#pragma once
// StepReplay: the steady steps of a run, which can be scheduled again with changes. The schedule is that of
// the graph of waits (waits/path_graph.h): every point as early as what it waits for allows. A Plan is what
// the steps would take; the plan of no change is the recorded one without the recorder's own price. Fixes
// (fixes.h) change plans; several of them change one plan after the other, so that nothing is gained twice.
// A run without steady steps is one step, from its first to its last event, unless it is too long to replay.
// Thread rule: read-only once built. Ownership: refers to the facts and the run.

#include <algorithm>
#include <cstdint>
#include <unordered_set>
#include <utility>
#include <vector>

#include "analyze/cost_model/recorder_price.h"
#include "analyze/facts/phases.h"
#include "analyze/facts/timeline.h"
#include "analyze/waits/path_graph.h"

namespace nl::replay {

// Made by the program: an operator or a call, no range around them.
inline bool IsCallNode(HostKind kind) { return kind == HostKind::kOp || kind == HostKind::kApi; }

// A stretch of a launching thread's time in which no operator and no call ran, or an operator that did
// nothing but compute on the host.
struct HostGap {
  uint32_t thread;  // position in TimelineFacts::threads
  int64_t start_ns, end_ns;
  uint32_t before = kNone, after = kNone;  // the calls around it, outermost; kNone at the ends
  uint32_t inside = kNone;                 // the range it is in; kNone: nothing recorded
  uint32_t op = kNone;                     // an operator that computes on the host
};

struct Plan {
  std::vector<double> host_ns;   // by host point of the window: time on its thread since the point before
  std::vector<double> tail_ns;   // by thread that launches: from its last point to the end of the window
  std::vector<double> work_ns;   // by work of the window
  std::vector<uint8_t> no_wait;  // by host point: the call does not wait for the device
  std::vector<uint8_t> no_gap;   // by work: starts without the latency of its own launch
  double floor_ns = 0;           // whatever the schedule says, all steps take at least this long
  double scale = 1;              // of everything
  // What fixes have taken, so that none takes it again: whether a graph launches all work; gaps; calls and
  // operators that are gone; and those that a fix of one kind has changed (kind << 32 | node).
  bool graphs = false;
  bool streams_free = false;  // kernels do not wait for those of other streams
  std::unordered_set<uint32_t> gaps_gone, nodes_gone;
  std::unordered_set<uint64_t> nodes_changed;
};

class StepReplay {
 public:
  StepReplay(const PathGraph& graph, const TimelineFacts& timeline, const RunData& data,
             const PhasesFacts& phases);

  // False where the run has neither steady steps nor few enough events; then nothing else may be called.
  bool usable() const { return steps_ > 0; }
  // The only step is the whole run.
  bool whole() const { return whole_; }
  int64_t steps() const { return steps_; }
  int64_t steady() const { return steady_; }            // of the run; steps() may be fewer
  const Plan& recorded() const { return recorded_; }    // as it ran
  const Plan& unchanged() const { return unchanged_; }  // without the recorder's price
  // Time of one step, in ns: of a plan, as recorded, and without the recorder's price.
  double StepNs(const Plan& plan) const;
  double recorded_step_ns() const { return recorded_step_ns_; }
  double step_ns() const { return step_ns_; }

  // Time of [from, to) on a thread, scaled; returns what that takes from the plan, in ns.
  double ScaleHost(Plan& plan, uint32_t thread, int64_t from_ns, int64_t to_ns, double factor) const;
  void ScaleNode(Plan& plan, uint32_t node, double factor) const;
  // The call returns at once.
  void DropWait(Plan& plan, uint32_t node) const;
  void ScaleWork(Plan& plan, uint32_t work, double factor) const;
  // The work is not there: nor is what it takes to get to it.
  void DropWork(Plan& plan, uint32_t work) const;
  // The work takes at most this long.
  void LimitWork(Plan& plan, uint32_t work, double most_ns) const;
  // Work of the window that this operator or call launched, also through others inside it.
  template <class Fn>
  void ForEachWorkOf(uint32_t node, const Fn& fn) const {
    auto at = std::lower_bound(by_node_.begin(), by_node_.end(), std::pair(node, 0u));
    for (; at != by_node_.end() && at->first < timeline_.host.last[node]; ++at) fn(at->second);
  }
  bool HasNode(uint32_t node) const {
    const int64_t start_ns = timeline_.host.start_ns[node];
    return start_ns >= start_ns_ && start_ns < host_end_ns_;
  }
  bool HasWork(uint32_t work) const { return local_work_[work] != kNone; }

  const std::vector<uint32_t>& works() const { return works_; }        // of the window
  const std::vector<uint32_t>& host_points() const { return hosts_; }  // of the window, numbers in the graph
  const std::vector<HostGap>& gaps() const { return gaps_; }
  // Threads that launch work in the window.
  bool Launches(uint32_t thread) const { return launches_[thread] != 0; }
  uint32_t ThreadOf(uint32_t node) const;
  int64_t start_ns() const { return start_ns_; }
  int64_t host_end_ns() const { return host_end_ns_; }
  const RecorderPrice& price() const { return price_; }
  // Below this, time without an operator is how Python gets from one operator to the next.
  int64_t least_gap_ns() const { return least_gap_ns_; }
  const TimelineFacts& timeline() const { return timeline_; }
  const RunData& data() const { return data_; }
  const PathGraph& graph() const { return graph_; }

 private:
  void ChooseWindow(const PhasesFacts& phases);
  std::pair<size_t, size_t> ObservedSteady(const std::vector<const PhasesFacts::Step*>& steady) const;
  void CollectPoints();
  void FindGaps();
  void FindGapsOf(uint32_t thread);
  void RemovePrice();
  double PriceOfNode(uint32_t node) const;
  uint32_t RangeAround(uint32_t node) const;
  size_t PointAfter(uint32_t thread, int64_t time_ns) const;
  int64_t LastPointNs(uint32_t thread) const;  // the start of the window where there is none

  const PathGraph& graph_;
  const TimelineFacts& timeline_;
  const RunData& data_;
  const RecorderPrice price_;
  int64_t steps_ = 0;
  int64_t steady_ = 0;
  bool whole_ = false;
  int64_t start_ns_ = 0, host_end_ns_ = 0, device_start_ns_ = 0;
  int64_t least_gap_ns_ = 0;
  std::vector<uint32_t> order_;  // points of the window
  std::vector<uint32_t> works_, hosts_;
  std::vector<uint32_t> local_work_, local_host_;
  std::vector<std::pair<uint32_t, uint32_t>> by_node_;  // launching call or operator, work
  std::vector<uint32_t> thread_first_;                  // by thread: first place in hosts_
  std::vector<uint8_t> launches_;
  std::vector<HostGap> gaps_;
  Plan recorded_, unchanged_;
  double recorded_step_ns_ = 0, step_ns_ = 0;
};

}  // namespace nl::replay
