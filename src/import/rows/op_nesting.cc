// SPDX-License-Identifier: Apache-2.0
#include "import/rows/op_nesting.h"

#include <algorithm>

namespace nl {

void OpNesting::Add(ThreadId lane, int64_t start_ns, int64_t end_ns, RowId row) {
  if (!any_) first_row_ = static_cast<int64_t>(row);
  any_ = true;
  if (last_ == nullptr || lane != last_lane_) {
    last_ = &lanes_[static_cast<int32_t>(lane)];
    last_lane_ = lane;
  }
  last_->ops.push_back(
      {start_ns, end_ns, static_cast<uint32_t>(static_cast<int64_t>(row) - first_row_), kNoParent});
}

// Parents by a stack over the ops in order of their start, the longer first.
void OpNesting::Nest() {
  nested_ = true;
  for (auto& [id, lane] : lanes_) {
    std::vector<Op>& ops = lane.ops;
    const auto before = [](const Op& a, const Op& b) {
      return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
    };
    if (!std::is_sorted(ops.begin(), ops.end(), before)) std::stable_sort(ops.begin(), ops.end(), before);
    std::vector<uint32_t> open;
    for (uint32_t i = 0; i < ops.size(); ++i) {
      while (!open.empty() && ops[open.back()].end_ns < ops[i].end_ns) open.pop_back();
      if (!open.empty()) ops[i].parent = open.back();
      open.push_back(i);
    }
  }
  last_ = nullptr;
}

RowId OpNesting::Enclosing(ThreadId id, int64_t start_ns, int64_t end_ns) {
  last_op_ = kNoParent;
  if (!any_) return RowId::kNull;
  if (!nested_) Nest();
  if (last_ == nullptr || id != last_lane_) {
    const auto it = lanes_.find(static_cast<int32_t>(id));
    if (it == lanes_.end()) return RowId::kNull;
    last_ = &it->second;
    last_lane_ = id;
  }
  const std::vector<Op>& ops = last_->ops;
  // Calls come nearly in order: look at the neighbours of the last answer first.
  size_t at = std::min(last_->hint, ops.size());
  size_t steps = 0;
  while (at > 0 && ops[at - 1].start_ns > start_ns && steps < 16) --at, ++steps;
  while (at < ops.size() && ops[at].start_ns <= start_ns && steps < 16) ++at, ++steps;
  if (steps == 16) {
    at = static_cast<size_t>(std::upper_bound(ops.begin(), ops.end(), start_ns,
                                              [](int64_t t, const Op& op) { return t < op.start_ns; }) -
                             ops.begin());
  }
  last_->hint = at;
  uint32_t op = at == 0 ? kNoParent : static_cast<uint32_t>(at - 1);
  while (op != kNoParent && ops[op].end_ns < end_ns) op = ops[op].parent;
  last_op_ = op;
  return op == kNoParent ? RowId::kNull : static_cast<RowId>(first_row_ + ops[op].row);
}

bool OpNesting::AroundLast(RowId wanted) const {
  if (last_op_ == kNoParent) return false;
  const std::vector<Op>& ops = last_->ops;
  for (uint32_t op = ops[last_op_].parent; op != kNoParent; op = ops[op].parent) {
    if (static_cast<RowId>(first_row_ + ops[op].row) == wanted) return true;
  }
  return false;
}

}  // namespace nl
