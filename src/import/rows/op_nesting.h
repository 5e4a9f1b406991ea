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
  // Is `op` that innermost op, or one around it?
  enum class Place { kInnermost, kAround, kElsewhere };
  Place PlaceOf(RowId op, ThreadId lane, int64_t start_ns, int64_t end_ns);

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
  // Index into the ops of `last_`, which it sets; kNoParent: none.
  uint32_t Find(ThreadId lane, int64_t start_ns, int64_t end_ns);
  std::unordered_map<int32_t, Lane> lanes_;
  Lane* last_ = nullptr;
  ThreadId last_lane_ = ThreadId::kNull;
  int64_t first_row_ = 0;
  bool any_ = false, nested_ = false;
};

}  // namespace nl
