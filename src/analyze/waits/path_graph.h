// SPDX-License-Identifier: Apache-2.0
#pragma once
// PathGraph: points in time and what each had to wait for. Point 2i is the start of work
// item i, 2i+1 its end; host points (launches, blocking calls, hand-overs between threads)
// follow, by thread and time. An edge says "not before `from` plus weight"; what remains
// between the latest of these and the point's time is a gap that belongs to the point.
// Edges go forward in (time, Rank, index), so there is no circle.
// Thread rule: read-only once built.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "analyze/facts/timeline.h"
#include "analyze/run_data.h"
#include "model/api_kind.h"

namespace nl {

enum class PointKind : uint8_t { kThreadStart, kPlain, kReturn, kResume };
enum class EdgeKind : uint8_t {
  kThread,      // order on one host thread
  kLaunch,      // launch call to the work it launched
  kStream,      // the work before on the same stream ended
  kOverlap,     // the work before on the same stream began (it overlaps)
  kExecution,   // start to end of one work item
  kReturn,      // the work a blocking call waited for
  kEventWait,   // event record to wait, between streams
  kGraph,       // the work before in the same graph launch
  kHandover,    // one host thread takes over from another
  kCollective,  // the last rank to arrive
  kAssumed,     // no cause recorded: the latest work that had ended
};

struct PathGraph {
  struct Extra {
    uint32_t from, to;
    int64_t weight_ns;
    EdgeKind kind;
  };
  uint32_t works = 0;
  std::vector<int64_t> host_time_ns, host_weight_ns;  // weight: of the edge from the point before
  std::vector<uint32_t> host_node;                    // the call of a kReturn point
  std::vector<uint32_t> host_thread;                  // position in TimelineFacts::threads
  std::vector<PointKind> host_kind;
  std::vector<uint32_t> launch;       // by work: host point (not point), or kNone
  std::vector<uint32_t> before;       // by work: work before on its stream, or kNone
  std::vector<Extra> extras;          // by `to`
  std::vector<uint32_t> first_extra;  // by point
  std::vector<uint32_t> order;        // every point after all it waits for
  int64_t launch_floor_ns = 0, stream_floor_ns = 0;
  int64_t inferred_waits = 0, impossible_edges = 0;

  // A launch onto a free stream takes about the floor; what takes far longer waited for something else.
  bool IsPlainLatency(int64_t latency_ns) const {
    return latency_ns <= 10 * std::max<int64_t>(launch_floor_ns, 1000);
  }
  size_t points() const { return 2 * size_t{works} + host_time_ns.size(); }
  bool IsWork(uint32_t point) const { return point < 2 * works; }
  uint32_t HostPoint(uint32_t host) const { return 2 * works + host; }
  int64_t TimeOf(const DeviceWork& w, uint32_t point) const {
    if (!IsWork(point)) return host_time_ns[point - 2 * works];
    return (point & 1) != 0 ? w.end_ns[point / 2] : w.start_ns[point / 2];
  }

  // Calls take(from, weight_ns, kind, position in extras or kNone) for what `point` waited for.
  template <class Take>
  void ForEachCause(const DeviceWork& w, uint32_t point, const Take& take) const {
    const uint32_t extra = first_extra[point];
    for (uint32_t e = extra; e < extras.size() && extras[e].to == point; ++e)
      take(extras[e].from, extras[e].weight_ns, extras[e].kind, e);
    if (!IsWork(point)) {
      const uint32_t h = point - 2 * works;
      if (host_kind[h] != PointKind::kThreadStart)
        take(point - 1, host_weight_ns[h], EdgeKind::kThread, kNone);
      return;
    }
    const uint32_t i = point / 2;
    if ((point & 1) != 0) {
      // A collective lasts from the arrival of the last rank, whoever waited before.
      take(point - 1, extra == kNone ? w.end_ns[i] - w.start_ns[i] : extras[extra].weight_ns,
           EdgeKind::kExecution, kNone);
      return;
    }
    if (const uint32_t b = before[i]; b != kNone) {
      const int64_t gap_ns = w.start_ns[i] - w.end_ns[b];
      if (gap_ns >= 0) {
        take(2 * b + 1, std::min(gap_ns, stream_floor_ns), EdgeKind::kStream, kNone);
      } else {
        take(2 * b, w.start_ns[i] - w.start_ns[b], EdgeKind::kOverlap, kNone);
      }
    }
    if (launch[i] != kNone) {
      const int64_t latency_ns = w.start_ns[i] - host_time_ns[launch[i]];
      take(HostPoint(launch[i]), std::min(latency_ns, launch_floor_ns), EdgeKind::kLaunch, kNone);
    }
  }
};

// One hand-over between threads: at `to_ns` one thread goes on from what another had done
// by `from_ns`. Threads are positions in TimelineFacts::threads.
struct Handover {
  uint32_t from_thread, to_thread;
  int64_t from_ns, to_ns;
};
// Which threads of a process waited for each other, as far as their pauses show it.
std::vector<Handover> FindHandovers(const TimelineFacts& timeline, const RunData& data,
                                    const std::vector<uint32_t>& threads);

// Edges from the last rank that came to a collective to the end of the others' part in it.
std::vector<PathGraph::Extra> FindCollectives(const TimelineFacts& timeline, const RunData& data,
                                              int64_t& impossible_edges);

inline constexpr Reads kPathGraphReads =
    NL_READS(Process, rank) | NL_READS(Thread, process_id) |
    NL_READS(ApiCall, thread_id, start_ns, name, correlation) | NL_READS(Memcpy, src_memory, dst_memory) |
    NL_READS(Sync, start_ns, device, stream, wait_on_stream, wait_on_correlation, api_call_id) |
    NL_READS(Collective, owner, owner_id, group_name, sequence);
PathGraph BuildGraph(const TimelineFacts& timeline, const RunData& data);

}  // namespace nl
