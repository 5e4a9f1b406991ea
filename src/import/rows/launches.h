// SPDX-License-Identifier: Apache-2.0
#pragma once
// What caused what, found while the tables are read: ops enclose API calls on their thread,
// API calls share a correlation id with the device work they caused. Correlation ids are
// unique within one process only.
// Read order: ops, then API calls, then device work.
// Thread rule: one thread. Memory: 24 bytes an op, a few bytes an API call.

#include <memory>
#include <unordered_map>
#include <vector>

#include "base/packed_column.h"
#include "import/rows/run_facts.h"
#include "model/api_kind.h"

namespace nl {

class OpNesting {
 public:
  void Add(ThreadId lane, int64_t start_ns, int64_t end_ns, RowId row);
  // The innermost op of the lane that encloses the span; null when there is none. The
  // first question ends the adding.
  RowId Enclosing(ThreadId lane, int64_t start_ns, int64_t end_ns);

 private:
  static constexpr uint32_t kNoParent = 0xffffffffu;
  struct Op {
    int64_t start_ns, end_ns;
    uint32_t row;  // from first_row_ on
    uint32_t parent;
  };
  struct Lane {
    std::vector<Op> ops;
    size_t hint = 0;
  };
  void Nest();
  std::unordered_map<int32_t, Lane> lanes_;
  Lane* last_ = nullptr;
  ThreadId last_lane_ = ThreadId::kNull;
  int64_t first_row_ = 0;
  bool any_ = false, nested_ = false;
};

class LaunchIndex {
 public:
  struct Launch {
    RowId api_call = RowId::kNull, op = RowId::kNull;
    WaitKind wait = WaitKind::kNone;
  };
  void Add(int64_t process, int64_t correlation, const Launch& launch);
  // Empty when the process has no such call. The first question ends the adding.
  Launch Find(int64_t process, int64_t correlation);
  int64_t duplicates() const { return duplicates_; }

 private:
  struct Calls {
    PackedColumn correlation, api_call, op, wait;
    std::unique_ptr<IdIndex> index;
    size_t hint = 0;
  };
  Calls* CallsOf(int64_t process, bool make);
  std::unordered_map<int64_t, Calls> processes_;
  Calls* last_ = nullptr;
  int64_t last_process_ = 0, duplicates_ = 0;
};

}  // namespace nl
