// SPDX-License-Identifier: Apache-2.0
#pragma once
// LaunchFacts: the cost of launching and how far the host ran ahead of the device.
// Kernels of a CUDA graph share one launch, which counts once. Made by passes/launch.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyze/facts/timeline.h"
#include "base/record.h"

namespace nl {

struct RunData;

struct LaunchFacts {
  static constexpr const char* kName = "launch";

  int64_t launches = 0, graph_launches = 0;    // API calls that started device work
  int64_t work_items = 0, without_launch = 0;  // device work, and how much of it has no recorded launch
  int64_t api_ns = 0;                          // time inside those calls
  double api_p50_ns = 0, api_p95_ns = 0;
  double delay_p50_ns = 0, delay_p95_ns = 0;  // from the call's start to the work's start
  int64_t negative_delays = 0;                // work that starts before its launch: clocks disagree
  int64_t transition_ns =
      0;  // sum of delays: small when the device waits for the host, large when work queues up
  int64_t launch_bound = 0;     // launches whose work ran shorter than the call took
  int64_t launch_bound_ns = 0;  // device time of that work

  struct Queue {
    uint32_t stream;  // position in TimelineFacts::streams
    int64_t max_length = 0;
    double mean_length = 0;      // over the time from its first launch to its last start
    std::vector<int64_t> at_ns;  // when the length changed, thinned out to kMaxPoints
    std::vector<int32_t> length;
    static constexpr size_t kMaxPoints = 400;
  };
  std::vector<Queue> queues;
  struct Name {
    StringId name;
    int64_t calls = 0, api_ns = 0;
  };
  std::vector<Name> names;  // API functions, most time first
};

// The facts as reports and `neurolens launch` give them.
struct LaunchQueue {
  std::optional<int32_t> device;
  std::optional<int64_t> stream;
  int64_t queue_max = 0;
  double queue_mean = 0;
  std::vector<double> at_ms;
  std::vector<int32_t> length;
};
struct LaunchCall {
  std::string name;
  int64_t calls = 0;
  double ms = 0;
};
struct LaunchSection {
  int64_t launches = 0, graph_launches = 0, work_items = 0, without_launch = 0;
  double api_ms = 0;
  std::optional<double> api_p50_us, api_p95_us, queue_delay_p50_us, queue_delay_p95_us;
  int64_t negative_delays = 0;
  double transition_ms = 0;
  int64_t launch_bound = 0;
  std::optional<double> launch_bound_share;
  double launch_bound_work_ms = 0;
  std::vector<LaunchQueue> streams;
  int64_t queue_max = 0;
  std::vector<LaunchCall> calls;
};
void Describe(Record<LaunchQueue>& r);
void Describe(Record<LaunchCall>& r);
void Describe(Record<LaunchSection>& r);

LaunchSection SectionOf(const LaunchFacts& facts, const TimelineFacts& timeline, const RunData& data);

}  // namespace nl
