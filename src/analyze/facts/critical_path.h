// SPDX-License-Identifier: Apache-2.0
#pragma once
// CriticalPathFacts: the chain of dependencies that made the run as long as it was.
// The path covers the run from the first to the last event without gap or overlap, so
// its parts sum to the wall time exactly. Slack is how much later a work item could have
// ended without delaying the end of the run. WhatIf scales some durations and schedules
// the graph again.
// Made by passes/critical_path from the timeline in O(V + E).
// Thread rule: read-only once made. Ownership: the graph is shared, for WhatIf.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/facts/timeline.h"
#include "analyze/run_data.h"
#include "base/record.h"
#include "base/result.h"

namespace nl {

enum class PathClass : uint8_t {
  kHostOp,         // a framework op's own time
  kPython,         // a Python function's own time
  kHostRange,      // inside a labelled range, nothing else recorded
  kApi,            // an API call that neither launches nor waits
  kLaunch,         // inside the call that launches
  kLaunchLatency,  // from the launch to the start of the work
  kSyncWait,       // a blocking call's own time, or an event wait between streams
  kKernel,
  kCopy,  // copies and memsets
  kCommunication,
  kDeviceGap,   // between two pieces of dependent device work
  kUnrecorded,  // nothing was recorded at this point of the path
};
inline constexpr size_t kPathClasses = 12;
std::span<const std::string_view> NamesOf(PathClass);
std::string_view PathClassName(PathClass c);

// What a class of time is bound by.
enum class PathBound : uint8_t { kHost, kLaunch, kSync, kKernel, kCopy, kCommunication, kUnrecorded };
std::span<const std::string_view> NamesOf(PathBound);

struct PathGraph;  // path_graph.h

struct CriticalPathFacts {
  static constexpr const char* kName = "critical_path";

  struct Segment {
    int64_t start_ns, end_ns;
    StringId name;  // null: no name
    PathClass what;
  };
  struct Contributor {
    PathClass what;
    StringId name;
    int64_t ns;
    int64_t segments;
  };
  struct KernelSlack {
    StringId name;  // as the source spells it
    WorkKind kind;
    int64_t calls, total_ns, on_path_ns, min_slack_ns, median_slack_ns;
  };
  // Work items by slack: 0, under 1 us, 10 us, 100 us, 1 ms, 10 ms, 100 ms, and more.
  static constexpr std::array<int64_t, 7> kSlackBelowNs = {1,       1'000,      10'000,     100'000,
                                                           1000000, 10'000'000, 100'000'000};

  int64_t wall_ns = 0;
  int64_t path_ns = 0;  // equals wall_ns; the pass fails when it does not
  std::array<int64_t, kPathClasses> ns_by_class{};
  std::vector<Segment> segments;          // in time order, without gaps
  std::vector<Contributor> contributors;  // by (class, name), largest first
  std::vector<int64_t> work_slack_ns;     // by position in DeviceWork
  std::array<int64_t, kSlackBelowNs.size() + 1> slack_histogram{};
  std::vector<KernelSlack> kernels;  // by time on the path, then total
  int64_t launch_floor_ns = 0;       // lower quartile of launch latencies onto an idle stream
  int64_t inferred_waits = 0;        // stream waits inferred from the order of calls
  int64_t impossible_edges = 0;      // the trace shows the effect before its cause
  std::string reason;                // why there is no path; empty when there is one
  std::shared_ptr<const PathGraph> graph;
};

struct WhatIfResult {
  std::string selector;
  double factor = 1;
  int64_t matched = 0;     // events that match the selector
  int64_t matched_ns = 0;  // their time, on or off the path
  int64_t old_wall_ns = 0, new_wall_ns = 0;
};
// Selectors: kernel:NAME, op:NAME (host time inside it), copy:KIND, api:NAME, host, launch.
// NAME may contain `*`; it matches the short or the raw name of a kernel. InvalidInput for
// any other selector, or a factor that is not a number from 0 up.
Result<WhatIfResult> WhatIf(const CriticalPathFacts& facts, const TimelineFacts& timeline,
                            const RunData& data, std::string_view selector, double factor);

// The facts as reports and `neurolens critical-path` give them.
struct PathBoundShare {
  PathBound bound = PathBound::kUnrecorded;
  double ms = 0;
  std::optional<double> share;
};
struct PathClassShare {
  PathClass what = PathClass::kUnrecorded;
  PathBound bound = PathBound::kUnrecorded;
  double ms = 0;
  std::optional<double> share;
};
struct PathSums {
  int64_t wall_ns = 0, path_ns = 0;
};
struct PathContributor {
  PathClass what = PathClass::kUnrecorded;
  std::optional<std::string> name, raw_name;
  double ms = 0;
  std::optional<double> share;
  int64_t segments = 0;
};
struct PathSegment {
  PathClass what = PathClass::kUnrecorded;
  std::optional<std::string> name, raw_name;
  double start_ms = 0, ms = 0;
};
struct SlackBin {
  std::optional<double> below_ms;
  int64_t work_items = 0;
};
struct SlackKernel {
  std::optional<std::string> name, raw_name;
  int64_t calls = 0;
  double total_ms = 0, on_path_ms = 0;
  std::optional<double> on_path_share;
  double min_slack_ms = 0, median_slack_ms = 0;
};
struct PathSlack {
  std::vector<SlackBin> histogram;
  std::vector<SlackKernel> kernels;
};
struct CriticalPathSection {
  double wall_ms = 0;
  std::optional<std::string> reason;
  std::vector<PathBoundShare> bound_by;
  std::vector<PathClassShare> shares;
  PathSums sums;
  std::vector<PathContributor> contributors;
  int64_t contributors_total = 0;
  std::vector<PathSegment> segments;
  int64_t segments_total = 0;
  PathSlack slack;
  double launch_latency_floor_ms = 0;
  int64_t inferred_waits = 0, impossible_edges = 0;
};
void Describe(Record<PathBoundShare>& r);
void Describe(Record<PathClassShare>& r);
void Describe(Record<PathSums>& r);
void Describe(Record<PathContributor>& r);
void Describe(Record<PathSegment>& r);
void Describe(Record<SlackBin>& r);
void Describe(Record<SlackKernel>& r);
void Describe(Record<PathSlack>& r);
void Describe(Record<CriticalPathSection>& r);

// With at most `limit` contributors, segments and kernels.
CriticalPathSection SectionOf(const CriticalPathFacts& facts, const RunData& data, size_t limit);

}  // namespace nl
