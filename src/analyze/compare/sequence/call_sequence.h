// SPDX-License-Identifier: Apache-2.0
#pragma once
// CallSequence: one run as the sequence of calls its program made, in program order, each with
// its share of the wall. First step of a comparison; align.h pairs the calls of two sequences.
// A call is an operator with the device work it launched itself, device work without an
// operator, a blocking or allocating API call, the time around the work, or the end of the run.
// Every nanosecond of every device's wall belongs to exactly one call:
// - device time to the work that ran (compute before communication before copies, the
//   earliest started first), so that overlap counts once;
// - idle time to the call whose work ended the gap, by what the host did in it; time inside
//   blocking and allocating calls to those; idle time before the first and after the last work
//   of a device, in which nothing was recorded, to the time around the work.
// So the costs of all calls sum to devices x wall. A run without device work is represented
// by the host thread with the most recorded time.
// Runs repeat themselves: everything that depends only on the contents of a call is computed
// and kept once, in its type; a call is a type, a position and its times, in columns.
// Thread rule: read-only once built; two runs may be built by two threads at once.
// Ownership: refers to the run's columns and timeline.

#include <cstdint>
#include <string>
#include <vector>

#include "analyze/analysis.h"
#include "analyze/facts/idle.h"
#include "analyze/facts/timeline.h"
#include "model/kernel_name.h"

namespace nl::compare {

// A call's share of the wall, by where a change of it can come from.
struct Costs {
  int64_t work_ns = 0;     // the device was busy
  int64_t on_host_ns = 0;  // the device waited for the host: launch, operator, API, Python
  int64_t waited_ns = 0;   // the device waited for something else: a wake-up, a graph node, unknown

  int64_t busy_ns() const { return work_ns; }
  int64_t host_ns() const { return on_host_ns; }  // affected by the speed of the host
  int64_t idle_ns() const { return on_host_ns + waited_ns; }
  int64_t total_ns() const { return work_ns + on_host_ns + waited_ns; }
  void Add(const Costs& c) {
    work_ns += c.work_ns;
    on_host_ns += c.on_host_ns;
    waited_ns += c.waited_ns;
  }
};

enum class CallKind : uint8_t { kKernel, kCopy, kMemset, kSync, kAlloc, kHost, kAround, kEnd };
// Not a call of the program: the time around the work, the end of the run.
inline bool IsOutside(CallKind kind) { return kind == CallKind::kAround || kind == CallKind::kEnd; }

// What calls with the same contents at the same place in the model have in common.
struct CallType {
  // Equal for calls that compute the same: operator, width of the first input, weights of a
  // matrix product; the kernel name where no operator was recorded. Independent of batch size,
  // sequence length, data type and kernel.
  uint64_t token = 0;
  uint64_t related_hash = 0;  // equal for calls that may be the same call, changed
  uint64_t op_hash = 0;       // of the operator's (or API function's) name alone; 0: none
  uint64_t kernel_hash = 0;   // of the names of its work, in order
  uint64_t shape_hash = 0;    // of input shapes; of the grid where shapes were not recorded
  uint64_t type_hash = 0;     // of input types
  StringId op = StringId::kNull, kernel = StringId::kNull;  // kernel: its longest work item
  StringId dims = StringId::kNull, types = StringId::kNull;
  uint32_t module = kNone, stage = kNone;
  uint32_t kernels = 0;  // work items
  int64_t bytes = 0;     // copied
  CallKind kind = CallKind::kKernel;
  KernelFamily family = KernelFamily::kOther;
  bool graph = false;  // launched as part of a CUDA graph
};

struct Call {
  uint32_t type = 0;      // in CallSequence::types
  uint32_t node = kNone;  // in the host tree
  uint32_t row = kNone;   // of its longest work item in the table of its kind
  uint32_t segment = kNone;
};
static_assert(sizeof(Call) == 16);

// A range of calls inside one instance of a label (a decode step, ProfilerStep#3), or one
// period of a repeating sequence.
struct Segment {
  uint64_t label = 0;  // equal in both runs for the same label
  std::string name;    // "" without a label
  uint32_t first = 0, last = 0;
  uint64_t token_hash = 0;  // of its calls' tokens
  uint32_t lane = 0;        // of the launching thread, busiest first; kEndLane: none
  bool graph = false;       // some of it was launched as a CUDA graph
};

inline constexpr uint32_t kEndLane = kNone;

struct CallSequence {
  const Analysis* run = nullptr;
  std::vector<CallType> types;
  std::vector<Call> calls;
  // By call:
  std::vector<Costs> costs;
  std::vector<int64_t> start_ns, end_ns;  // of its device work; of the call itself without any
  std::vector<int64_t> span_ns;           // host duration of its operator, else of its launch
  std::vector<int64_t> elapsed_ns;     // host time since the previous call, whether the device waited or not
  std::vector<uint32_t> call_of_work;  // by DeviceWork of the run; empty where some of it was left out
  std::vector<Segment> segments;
  std::vector<std::string> modules, stages;  // names by CallType::module and CallType::stage
  int64_t wall_ns = 0;
  int64_t parts = 1;              // walls that the costs sum to: devices, or 1 host thread
  bool on_host = false;           // no device work was recorded
  int64_t background_ns = 0;      // device time of the threads left out
  std::string background_kernel;  // the longest kernel of them

  const CallType& Type(uint32_t call) const { return types[calls[call].type]; }
  uint64_t Token(uint32_t call) const { return types[calls[call].type].token; }
  double Ms(int64_t ns) const { return static_cast<double>(ns) / 1e6 / static_cast<double>(parts); }
  std::string_view Text(StringId id) const { return run->data().Text(id); }
};

struct CallSequenceOptions {
  // Threads to leave out: their work belongs to another program.
  std::vector<ThreadId> background;
};
// Internal when the costs do not sum to the walls.
Result<CallSequence> BuildCallSequence(Analysis& run, const CallSequenceOptions& options = {});

inline uint64_t HashPair(uint64_t a, uint64_t b) {
  uint64_t h = (a ^ (b + 0x9e3779b97f4a7c15ull + (a << 6) + (a >> 2))) * 0xff51afd7ed558ccdull;
  return h ^ (h >> 32);
}

}  // namespace nl::compare
