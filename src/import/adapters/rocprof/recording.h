// SPDX-License-Identifier: Apache-2.0
#pragma once
// Recording: from the records of rocprof (JSON, CSV sets, v1 tables) to rows. The
// readers fill these structs; here they get their lanes, names and times, whatever the file.
// Thread rule: one thread. Ownership: lives for one import.

#include <array>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "import/adapters/rocprof/agents.h"
#include "import/adapters/rocprof/counters.h"
#include "import/rows/row_writer.h"
#include "import/rows/step_rows.h"

namespace nl::adapters::rocprof {

inline constexpr int64_t kNone = NullOf<int64_t>::value;

struct Times {
  int64_t start_ns = kNone, end_ns = kNone;
};

// Numbers that a launch shares with others: kept once per kernel as one JSON text.
struct Resources {
  int64_t kernel_id = kNone, queue = kNone, scratch_bytes = kNone, vgpr = kNone, accum_vgpr = kNone,
          sgpr = kNone, wave_size = kNone;
  bool operator==(const Resources&) const = default;
};

struct Dispatch {
  Times times;
  AgentPlace agent;
  int64_t pid = kNone, tid = kNone, stream = kNone, correlation = kNone, dispatch_id = kNone,
          queued_ns = kNone;
  StringId name = StringId::kNull;
  int64_t lds_bytes = kNone;
  // Work-items; a grid that is known as one number only has no y and z.
  std::array<int64_t, 3> workgroup{kNone, kNone, kNone}, grid{kNone, kNone, kNone};
  Resources resources;
};

struct Copy {
  Times times;
  AgentPlace from, to;
  int64_t pid = kNone, tid = kNone, stream = kNone, correlation = kNone, bytes = kNone;
  std::string_view direction;  // MEMORY_COPY_HOST_TO_DEVICE
};

struct Call {
  Times times;
  int64_t pid = kNone, tid = kNone, correlation = kNone;
  StringId name = StringId::kNull;
  std::string_view domain;  // HIP_RUNTIME_API
};

struct Allocation {
  Times times;
  AgentPlace agent;
  int64_t pid = kNone, tid = kNone, address = kNone, bytes = kNone;
  std::string_view operation;  // MEMORY_ALLOCATION_ALLOCATE
};

class Recording {
 public:
  explicit Recording(ImportFile& file);

  ImportFile& file;
  RowWriter writer;
  Agents agents;
  Json header = Json::object();

  // Text of a file, made UTF-8. Null stays null.
  StringId Text(std::string_view text);
  void NameProcess(int64_t pid, std::string_view name) { process_names_[pid] = Text(name); }

  // `place` and `text` locate a bad record. Gives the row, null when it was left out.
  Result<RowId> AddKernel(const Dispatch& dispatch, int64_t place, std::string_view text);
  Status AddCopy(const Copy& copy, int64_t place, std::string_view text);
  Status AddCall(const Call& call, int64_t place, std::string_view text);
  // roctx: a span, or an instant where start and end are the same.
  Status AddMarker(const Call& marker, int64_t place, std::string_view text);
  Status AddAllocation(const Allocation& allocation, int64_t place, std::string_view text);
  // Scratch memory and whatever else is a span of a device.
  Status AddDeviceSpan(const Call& span, const AgentPlace& agent, std::string_view lane, int64_t place,
                       std::string_view text);
  // A hardware counter of a kernel that was added.
  void AddMetric(RowId kernel, StringId name, double value);
  // The kernel of a dispatch, when it was added with its number; null otherwise.
  RowId KernelOf(int64_t dispatch_id);

  // What was left out, said once each.
  void LeaveOut(const CounterInfo& counter, std::string_view what);
  // Lanes, devices and header, after the last record.
  Status Finish();

 private:
  using LaneKey = std::array<int64_t, 4>;  // pid, device (kNone: host), kind, number
  struct Lane {
    size_t process;
    int64_t tid;
    StringId name, text;
  };
  struct Process {
    int64_t pid, device;
  };
  bool TimeOf(const Times& times, Table table, RowId row, int64_t place, std::string_view text,
              int64_t& start_ns, int64_t& dur_ns);
  ThreadId LaneOf(const LaneKey& key, int64_t tid, std::string_view name);
  ThreadId Host(int64_t pid, int64_t tid, bool beside);
  ThreadId Stream(int64_t pid, int32_t device, int64_t stream, int64_t queue);
  int32_t DeviceOf(const AgentPlace& agent);
  StringId ResourceText(const Resources& resources);
  void PutLanes();
  void PutStep(RowId range, const RangeRow& row);

  StringId kernel_table_, resources_key_, span_, instant_, roctx_;
  std::vector<Process> processes_;
  std::map<std::pair<int64_t, int64_t>, size_t> process_at_;
  std::vector<Lane> lanes_;
  std::map<LaneKey, ThreadId> lane_of_;
  struct Domain {
    std::string kind, text;  // as the file and as the run spell it
    StringId id = StringId::kNull;
  } domain_;  // of the last call: calls of one domain stand together
  LaneKey last_key_{};
  ThreadId last_lane_ = ThreadId::kNull;
  std::unordered_map<int64_t, StringId> process_names_;
  int64_t first_process_, first_lane_;
  StepRows steps_;
  struct ResourceHash {
    size_t operator()(const Resources& r) const;
  };
  std::unordered_map<Resources, StringId, ResourceHash> resource_texts_;
  std::vector<std::pair<int64_t, RowId>> kernels_;  // by dispatch, sorted when asked
  size_t sorted_kernels_ = 0;
  std::unordered_map<int64_t, int64_t> allocated_;  // address -> bytes
  std::map<std::string, bool> left_out_;
  // Counters whose meaning is that of a column of kernel_counter, as documented by AMD.
  enum class Known : uint8_t { kNone, kFetchKilobytes, kWriteKilobytes, kL2HitPercent, kOccupancyPercent };
  struct KnownValue {
    RowId kernel;
    Known counter;
    double value;
  };
  Known KnownOf(StringId name);
  void PutCounters();
  std::unordered_map<uint32_t, Known> known_names_;
  std::vector<KnownValue> known_values_;
};

}  // namespace nl::adapters::rocprof
