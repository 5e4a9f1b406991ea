// SPDX-License-Identifier: Apache-2.0
#pragma once
// OpNesting: which op encloses a span on its thread.
// Thread rule: one thread. Memory: 24 bytes an op.

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "model/ids.h"

namespace nl {

class OpNesting {
 public:
  void Add(ThreadId lane, int64_t start_ns, int64_t end_ns, RowId row);
  // The innermost op of the lane that encloses the span; null when there is none. The
  // first question ends the adding.
  RowId Enclosing(ThreadId lane, int64_t start_ns, int64_t end_ns);
  // Is `op` around the op of the last answer?
  bool AroundLast(RowId op) const;

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
  uint32_t last_op_ = kNoParent;  // of the last answer, in last_
  int64_t first_row_ = 0;
  bool any_ = false, nested_ = false;
};

}  // namespace nl
