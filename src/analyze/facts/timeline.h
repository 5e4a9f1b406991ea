// SPDX-License-Identifier: Apache-2.0
#pragma once
// TimelineFacts: the run as two structures every other pass stands on.
// - DeviceWork: kernels, copies and memsets of all devices in one list, by start time,
//   each with the API call that launched it and the framework op that caused it.
// - HostTree: every span on a host thread (ranges, Python calls, ops, API calls), nested
//   by time; a node's ancestors are what the thread was inside of.
// Both are structs of arrays; positions are 32-bit, kNone where there is none.
// Made by passes/timeline in O(n log n).

#include <compare>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "model/ids.h"
#include "model/kernel_name.h"

namespace nl {

inline constexpr uint32_t kNone = 0xffffffffu;

enum class WorkClass : uint8_t { kCompute, kCommunication, kMemory };
inline constexpr size_t kWorkClasses = 3;
enum class WorkKind : uint8_t { kKernel, kMemcpy, kMemset };
enum class HostKind : uint8_t { kRange, kPython, kOp, kApi };

// A device of one rank. Runs of one process have rank null.
struct DeviceKey {
  int32_t rank, device;
  auto operator<=>(const DeviceKey&) const = default;
};

struct DeviceWork {  // sorted by (start, end)
  std::vector<int64_t> start_ns, end_ns;
  std::vector<WorkKind> kind;
  std::vector<WorkClass> work;
  std::vector<uint32_t> row;     // in the table of its kind
  std::vector<uint32_t> device;  // position in TimelineFacts::devices
  std::vector<uint32_t> stream;  // position in TimelineFacts::streams
  std::vector<StringId> name;    // as the source spells it
  std::vector<uint32_t> launch;  // HostTree node of the launching API call
  std::vector<uint32_t> op;      // HostTree node of the op that caused it (innermost)
  size_t size() const { return start_ns.size(); }
};

struct HostTree {  // sorted by (thread, start, longest first): parents come before children
  std::vector<int64_t> start_ns, end_ns;
  std::vector<HostKind> kind;
  std::vector<uint32_t> row;     // in the table of its kind
  std::vector<uint32_t> parent;  // node that encloses it on the same thread
  std::vector<uint32_t> last;    // one past the last node inside it (a subtree is [i, last))
  std::vector<ThreadId> thread;
  std::vector<StringId> name;
  size_t size() const { return start_ns.size(); }
};

struct TimelineFacts {
  static constexpr const char* kName = "timeline";

  struct Stream {
    uint32_t device;  // position in devices
    int64_t context, stream;
  };
  struct HostThread {
    ThreadId thread;
    uint32_t first, last;  // nodes [first, last) of the tree
  };
  int64_t first_start_ns = 0, last_end_ns = 0;  // over every span; equal when there is none
  int64_t wall_ns() const { return last_end_ns - first_start_ns; }
  std::vector<DeviceKey> devices;  // sorted
  std::vector<Stream> streams;
  DeviceWork work;
  HostTree host;
  std::vector<HostThread> threads;
  // Parsed once per distinct raw name of a kernel.
  std::unordered_map<uint32_t, KernelName> kernel_names;
  const KernelName& KernelNameOf(StringId raw) const { return kernel_names.at(static_cast<uint32_t>(raw)); }
  std::vector<uint32_t> node_of_api, node_of_op, node_of_range, node_of_python;  // by table row
  std::vector<uint32_t> device_ranges;  // rows of `range` on device lanes (gpu_user_annotation)
  // Rows without a duration or a time: kept in their tables, outside of every structure here.
  int64_t untimed = 0;
};

}  // namespace nl
