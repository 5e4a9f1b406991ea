// SPDX-License-Identifier: Apache-2.0
#pragma once
// IdleFacts: every gap of every device, split into parts that sum to it exactly, and what
// the host was doing in the host part. A gap [a, b) ends with the work item that starts
// at b, launched by the API call [L, R):
// - sync: until the last thing it waited for was done: a blocking call of the launching
//   thread that began before a (its wake-up), the node before it in a CUDA graph;
// - host: then until the launch call began (L);
// - launch: inside the launch call, and its latency up to the floor of this trace;
// - startup: of these two, inside calls that did something for the first time (waits/cold_calls.h);
// - edge: of the host part before the first work and after the last, where nothing was recorded;
// - other: the rest.
// Made by passes/idle.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyze/facts/timeline.h"
#include "base/record.h"

namespace nl {

struct RunData;

struct IdleParts {
  int64_t host_ns = 0, launch_ns = 0, sync_ns = 0, startup_ns = 0, edge_ns = 0, other_ns = 0;
  int64_t paused_ns = 0;  // nothing was recorded: not idle for all that is known
  int64_t idle_ns() const { return host_ns + launch_ns + sync_ns + startup_ns + edge_ns + other_ns; }
  int64_t total_ns() const { return idle_ns() + paused_ns; }
  void Add(const IdleParts& p) {
    host_ns += p.host_ns;
    launch_ns += p.launch_ns;
    sync_ns += p.sync_ns;
    startup_ns += p.startup_ns;
    edge_ns += p.edge_ns;
    other_ns += p.other_ns;
    paused_ns += p.paused_ns;
  }
};

enum class IdleCause : uint8_t {
  kApi,            // inside an API call that is not the launch
  kOp,             // a framework op's own code
  kPython,         // a Python function
  kRange,          // only a labelled range was recorded
  kSampled,        // no span was recorded there, but CPU samples: the function they were in
  kNothing,        // nothing was recorded on the launching thread
  kSync,           // a blocking call waited for the device
  kGraph,          // between the nodes of one CUDA graph
  kLaunch,         // the launch call and its latency
  kUnknownLaunch,  // the launch of the next work was not recorded
  kNotRecorded,    // recording paused
  kQueued,         // launched long before; what it waited for was not recorded
  kStartup,        // a call that did something for the first time: context, module, first launch, graph
  kEdge,           // before the first or after the last recorded event of the launching thread
};
std::string_view IdleCauseName(IdleCause cause);

struct IdleFacts {
  static constexpr const char* kName = "idle";

  struct Gap {
    int64_t start_ns, end_ns;
    uint32_t device;  // position in TimelineFacts::devices
    uint32_t next;    // work item that ends it; kNone after the last one
    IdleParts parts;
    int64_t blocked_ns;  // of the host part, inside calls that wait for the device
    int64_t on_host_ns;  // from the end of the sync part to the launch call, startup and edge included
    IdleCause cause;     // of its largest part
    // Inside the launch call and its latency, a cold call included.
    int64_t in_launch_ns() const {
      return parts.launch_ns + parts.host_ns + parts.startup_ns + parts.edge_ns - on_host_ns;
    }
    StringId name;  // that goes with the cause (kSampled: a stack that ends in it); null where there is none
  };
  struct Cause {
    IdleCause what;
    StringId name;
    int64_t ns = 0, gaps = 0;
  };
  std::vector<IdleParts> devices;  // in the order of TimelineFacts::devices; each sums to its idle time
  IdleParts total;                 // over all devices
  std::vector<Gap> gaps;           // by device, then time
  std::vector<uint32_t> largest;   // places in gaps; at most kMaxListed, longest first
  std::vector<Cause> causes;       // longest first; they sum to the total
  int64_t blocked_ns = 0;          // over all gaps
  int64_t floor_ns = 0;  // launch latency floor of this trace: most common time from a launch to its start
  static constexpr size_t kMaxListed = 50;
};

// The facts as reports and `neurolens idle` give them.
struct IdlePartsMs {
  std::optional<double> host_ms, launch_ms, sync_ms, startup_ms;  // null where no launch was recorded
  double edge_ms = 0, other_ms = 0, paused_ms = 0;
};
struct IdleDevice : IdlePartsMs {
  std::optional<int32_t> index, rank;
  double idle_ms = 0;
};
struct IdleReason {
  std::string what;
  std::optional<std::string> name;
  double ms = 0;
  std::optional<double> share;
  int64_t gaps = 0;
};
struct IdleGap : IdlePartsMs {
  std::optional<int32_t> device;
  double start_ms = 0, dur_ms = 0;
  std::string cause;
  std::optional<std::string> name, next, next_raw_name;
};
struct IdleTotals : IdlePartsMs {
  double idle_ms = 0, blocked_ms = 0;
  int64_t gap_count = 0;
  std::optional<double> floor_us;
  std::optional<std::string> parts_reason;
  std::vector<IdleDevice> devices;
  std::vector<IdleReason> causes;
};
struct IdleSection : IdleTotals {
  std::vector<IdleGap> largest;
};
void Describe(Record<IdlePartsMs>& r);
void Describe(Record<IdleDevice>& r);
void Describe(Record<IdleReason>& r);
void Describe(Record<IdleGap>& r);
void Describe(Record<IdleTotals>& r);
void Describe(Record<IdleSection>& r);

IdleSection SectionOf(const IdleFacts& facts, const TimelineFacts& timeline, const RunData& data);

}  // namespace nl
