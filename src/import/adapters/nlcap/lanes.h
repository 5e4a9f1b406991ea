// SPDX-License-Identifier: Apache-2.0
#pragma once
// Lanes: lanes (thread.id) and processes of the run for what a capture records: host threads
// under their process, streams under one more row per process and device. Only lanes with
// events become rows. The same process may appear in several files: its own, and the
// launcher's.
// Thread rule: one thread.

#include <array>
#include <map>
#include <string_view>
#include <vector>

#include "import/rows/row_writer.h"

namespace nl::adapters::nlcap {

class Lanes {
 public:
  explicit Lanes(RowWriter& writer);

  void NameProcess(uint32_t pid, StringId name) { process_names_[pid] = name; }
  // A name the program gave wins over the one the system has.
  void NameThread(uint32_t pid, uint32_t tid, StringId name, bool by_program);
  // A thread of the capture library, by its name.
  bool IsRecorder(uint32_t pid, uint32_t tid) const;
  void SetRank(uint32_t pid, int32_t rank) { ranks_[pid] = rank; }

  ThreadId Host(uint32_t pid, uint32_t tid);
  ThreadId Stream(uint32_t pid, uint32_t device, uint32_t context, uint32_t stream);
  // A lane of a device beside its streams; `what` is always the same.
  ThreadId Device(uint32_t pid, uint32_t device, std::string_view what);

  void Put();  // the rows, after the last event

 private:
  enum Kind : int64_t { kHost, kStream, kOther };
  using Key = std::array<int64_t, 5>;  // kind, pid, device, context or name, tid or stream
  struct Lane {
    size_t process;
    int64_t tid;
    StringId name;
    Key key;
  };
  struct Process {
    uint32_t pid;
    int64_t device;  // -1: its host threads
  };
  ThreadId Make(const Key& key, int64_t tid, StringId name);

  RowWriter& writer_;
  int64_t first_process_, first_lane_;
  std::vector<Process> processes_;
  std::map<std::pair<uint32_t, int64_t>, size_t> process_at_;
  std::vector<Lane> lanes_;
  std::map<Key, ThreadId> lane_of_;
  Key last_key_{};
  ThreadId last_lane_ = ThreadId::kNull;
  std::map<uint32_t, StringId> process_names_;
  std::map<uint32_t, int32_t> ranks_;
  struct ThreadName {
    StringId name;
    bool by_program;
  };
  std::map<std::pair<uint32_t, uint32_t>, ThreadName> thread_names_;
};

}  // namespace nl::adapters::nlcap
