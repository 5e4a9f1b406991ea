// SPDX-License-Identifier: Apache-2.0
#pragma once
// Lanes: from the global ids of an export to lanes (thread.id) and processes of the run.
// A global id packs machine, virtual machine, process and thread:
//   0xHHVVPPPPPPTTTTTT, so pid = id >> 24 & 0xffffff and tid = id & 0xffffff.
// Host threads stand under their process; each process has one more row per device, whose
// lanes are its streams. Only lanes with events become rows.
// Thread rule: one thread.

#include <array>
#include <map>
#include <unordered_map>
#include <vector>

#include "base/counter.h"
#include "import/rows/row_writer.h"

namespace nl::adapters::nsys {

// The process part of a global id; null stays null.
constexpr int64_t ProcessOf(int64_t global_id) { return global_id & ~int64_t{0xffffff}; }

// Where a piece of device work stands.
struct StreamLane {
  ThreadId lane = ThreadId::kNull;
  int32_t device = NullOf<int32_t>::value;  // of the machine, not of the process
};

class Lanes {
 public:
  explicit Lanes(RowWriter& writer);

  // What the tables about the machine say, before any lane is asked for.
  void NameProcess(int64_t global_pid, StringId name) { process_names_[global_pid] = name; }
  void NameThread(int64_t global_tid, StringId name) { thread_names_[global_tid] = name; }
  void SetRank(int64_t global_pid, int32_t rank) { ranks_[global_pid] = rank; }
  // Device `cuda_id` of a process is GPU `gpu` of the machine (CUDA_VISIBLE_DEVICES).
  void MapDevice(int64_t pid, int32_t cuda_id, int32_t gpu) { gpus_[{pid, cuda_id}] = gpu; }
  void NoteContext(int64_t pid, int64_t context, int32_t cuda_id);

  ThreadId Host(int64_t global_tid);
  // The lane beside a host thread, for calls that would hide what they are made in; `what`
  // is always the same.
  ThreadId Beside(int64_t global_tid, std::string_view what);
  StreamLane Stream(int64_t global_pid, int32_t cuda_id, int64_t context, int64_t stream);
  // A lane of a device as a whole: of the machine (process null), or as one process sees it.
  ThreadId Device(int64_t global_pid, int32_t gpu, std::string_view what);
  StreamLane DevicePart(int64_t global_pid, int32_t cuda_id, std::string_view what);
  // The device (numbered as in the export) a context belongs to; null when not known.
  int32_t DeviceOfContext(int64_t global_pid, int64_t context) const;

  // Rows of the lanes and processes, after the last event.
  void Put(CounterSet& counters);

 private:
  static constexpr int64_t kHost = NullOf<int64_t>::value;
  struct Process {
    int64_t global_pid;
    int64_t device;  // kHost for its threads
  };
  struct Lane {
    size_t process;
    int64_t tid;
    StringId name, text;
  };
  using Key = std::array<int64_t, 5>;  // process, device, context, id, kind of lane
  int32_t GpuOf(int64_t global_pid, int32_t cuda_id) const;
  size_t ProcessAt(int64_t global_pid, int64_t device);
  ThreadId Make(const Key& key, int64_t tid, StringId name, StringId text);
  StringId NameOf(const std::unordered_map<int64_t, StringId>& names, int64_t id) const;

  RowWriter& writer_;
  int64_t first_process_, first_lane_;
  std::vector<Process> processes_;
  std::map<std::pair<int64_t, int64_t>, size_t> process_at_;
  std::vector<Lane> lanes_;
  std::map<Key, ThreadId> lane_of_;
  std::unordered_map<int64_t, ThreadId> host_of_, beside_of_;
  int64_t last_host_ = 0;
  ThreadId last_lane_ = ThreadId::kNull;
  struct CachedStream {
    Key key{};
    StreamLane lane;
  };
  std::array<CachedStream, 64> recent_{};
  std::unordered_map<int64_t, StringId> process_names_, thread_names_;
  std::unordered_map<int64_t, int32_t> ranks_;
  std::map<std::pair<int64_t, int32_t>, int32_t> gpus_;
  std::map<std::pair<int64_t, int64_t>, int32_t> contexts_;  // pid, context -> device as in the export
};

}  // namespace nl::adapters::nsys
