// SPDX-License-Identifier: Apache-2.0
#pragma once
// Trail: one run as the sequence of calls its program made, in program order, each with
// its share of the wall. First half of comparing two runs; align.h pairs two trails.
// A call is an operator with the device work it launched itself, a piece of device work
// without an operator, a blocking or allocating API call, or what lies behind the last of
// them. Every ns of every device's wall belongs to exactly one call:
// - device time to the work that ran (compute before communication before copies, the
//   earliest started first), so that what overlaps counts once;
// - idle time to the call whose work ended the gap, by what the host did in it; time inside
//   blocking and allocating calls to those.
// So the costs of all calls sum to devices x wall. A run without device work is told by
// the host thread with the most recorded time.
// Thread rule: read-only once built. Ownership: refers to the run's columns and timeline.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "analyze/analysis.h"
#include "analyze/facts/idle.h"
#include "analyze/facts/timeline.h"
#include "model/kernel_name.h"

namespace nl::compare {

enum class CostClass : uint8_t {
  kBusy,      // the device worked
  kLaunch,    // inside the launch and its latency
  kOp,        // host inside a framework op
  kApi,       // host inside an API call
  kUntraced,  // host in Python, in a labelled range, or where nothing was recorded
  kSync,      // waiting for the device, or between nodes of a graph
  kOther,     // not explained
};
inline constexpr size_t kCostClasses = 7;
struct Costs {
  std::array<int64_t, kCostClasses> ns{};
  int64_t& operator[](CostClass c) { return ns[static_cast<size_t>(c)]; }
  int64_t operator[](CostClass c) const { return ns[static_cast<size_t>(c)]; }
  int64_t busy_ns() const { return ns[0]; }
  int64_t idle_ns() const { return total_ns() - ns[0]; }
  int64_t host_ns() const {  // what a slower or faster host changes
    return (*this)[CostClass::kLaunch] + (*this)[CostClass::kOp] + (*this)[CostClass::kApi] +
           (*this)[CostClass::kUntraced];
  }
  int64_t total_ns() const {
    int64_t sum = 0;
    for (const int64_t part : ns) sum += part;
    return sum;
  }
  void Add(const Costs& c) {
    for (size_t i = 0; i < kCostClasses; ++i) ns[i] += c.ns[i];
  }
};

enum class CallKind : uint8_t { kKernel, kCopy, kMemset, kSync, kAlloc, kHost, kEnd };

struct Call {
  // Equal for what does the same: operator, width of its first input, weights of a product;
  // or kernel name where no operator was recorded. Not of batch, length, type or kernel.
  uint64_t token = 0;
  uint64_t kin = 0;          // equal for what may be the same thing, changed
  uint64_t op_hash = 0;      // of the operator's (or API function's) name alone; 0: none
  uint64_t kernel_hash = 0;  // of the names of its work, in order
  uint64_t shape_hash = 0;   // of input shapes; of the grid where shapes were not recorded
  uint64_t type_hash = 0;    // of input types
  StringId op = StringId::kNull, kernel = StringId::kNull;  // kernel: its longest work item
  StringId dims = StringId::kNull, types = StringId::kNull;
  uint32_t node = kNone;  // in the host tree
  uint32_t work = kNone;  // longest work item, while the trail is built
  uint32_t row = kNone;   // of that item in the table of its kind
  uint32_t segment = kNone, module = kNone, stage = kNone;
  uint32_t kernels = 0;              // work items
  int64_t bytes = 0;                 // copied
  int64_t start_ns = 0, end_ns = 0;  // of its device work; of itself without any
  int64_t span_ns = 0;               // its operator's, else its launch's, on the host
  int64_t elapsed_ns = 0;            // on the host since the call before it, whether the device waited or not
  CallKind kind = CallKind::kKernel;
  KernelFamily family = KernelFamily::kOther;
  bool graph = false;  // launched as part of a CUDA graph
  Costs costs;
};

// A stretch of calls inside one instance of a label (a decode step, ProfilerStep#3), or one
// period of a repeating sequence.
struct Segment {
  uint64_t label = 0;  // equal in both runs for the same label
  std::string name;    // "" when the stretch has no label
  uint32_t first = 0, last = 0;
  uint64_t token_hash = 0;  // of its calls' tokens
  uint32_t lane = 0;        // of the launching thread, the busiest first; kEndLane: of none
  bool graph = false;       // some of it was launched as a CUDA graph
};

inline constexpr uint32_t kEndLane = kNone;

struct Trail {
  const Analysis* run = nullptr;
  std::vector<Call> calls;
  std::vector<Segment> segments;
  std::vector<std::string> modules, stages;  // names by Call::module and Call::stage
  int64_t wall_ns = 0;
  int64_t parts = 1;              // walls that the costs sum to: devices, or 1 host thread
  bool on_host = false;           // no device work was recorded
  int64_t background_ns = 0;      // device time of the threads left out
  std::string background_kernel;  // the longest of them

  double Ms(int64_t ns) const { return static_cast<double>(ns) / 1e6 / static_cast<double>(parts); }
  std::string_view Text(StringId id) const { return run->data().Text(id); }
};

struct TrailOptions {
  // Threads whose work is left out: it runs beside the program that is compared.
  std::vector<ThreadId> background;
};
// Internal when the costs do not sum to the walls.
Result<Trail> BuildTrail(Analysis& run, const TrailOptions& options = {});

uint64_t HashText(std::string_view text);
inline uint64_t HashPair(uint64_t a, uint64_t b) {
  uint64_t h = (a ^ (b + 0x9e3779b97f4a7c15ull + (a << 6) + (a >> 2))) * 0xff51afd7ed558ccdull;
  return h ^ (h >> 32);
}

}  // namespace nl::compare
