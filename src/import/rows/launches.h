// SPDX-License-Identifier: Apache-2.0
#pragma once
// What caused what, found while the tables are read: API calls share a correlation id with the
// device work they caused (what encloses an API call: op_nesting.h). Correlation ids are
// unique within one process only.
// Read order: ops, then API calls, then device work.
// Thread rule: one thread. Memory: a few bytes an API call.

#include <memory>
#include <unordered_map>
#include <vector>

#include "base/packed_column.h"
#include "import/rows/op_nesting.h"
#include "import/rows/run_facts.h"
#include "model/api_kind.h"

namespace nl {

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
