// SPDX-License-Identifier: Apache-2.0
#pragma once
// HatchetTree: a Proton file as a flat list of nodes, parents first, with what each
// holds itself and in all. A node with a time is work of a device; one without is a scope.
// Thread rule: one thread. Ownership: points into the document it was made from.

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/counter.h"
#include "base/json.h"
#include "model/ids.h"

namespace nl::adapters::proton {

struct TreeNode {
  std::string_view name;
  const Json* metrics = nullptr;  // an object
  uint32_t last = 0;              // one after the last node below it
  bool root = false;              // Proton's own node around all others
  bool has_children = false;
  bool launches = false;  // work stands directly below it, or it is work itself
  int64_t count = NullOf<int64_t>::value;
  int64_t time_ns = NullOf<int64_t>::value;  // its own, over all executions
  int64_t total_ns = 0;                      // with everything below
  int32_t device = NullOf<int32_t>::value;
  std::string_view device_type;
  bool IsWork() const { return !IsNull(time_ns) && (time_ns > 0 || (!IsNull(count) && count > 0)); }
};

// The metrics that TreeNode has members for.
inline constexpr std::string_view kCountKey = "count", kTimeKey = "time (ns)", kDeviceKey = "device_id",
                                  kDeviceTypeKey = "device_type";

class HatchetTree {
 public:
  explicit HatchetTree(CounterSet& counters) : counters_(counters) {}
  // Adds one element of the file with all below it.
  void Add(const Json& element) { AddNode(element, true); }

  const std::vector<TreeNode>& nodes() const { return nodes_; }
  int64_t executions() const { return executions_; }  // of all work

 private:
  // False when it is not a node.
  bool AddNode(const Json& json, bool top);
  void ReadMetrics(TreeNode& node);

  CounterSet& counters_;
  std::vector<TreeNode> nodes_;
  int64_t executions_ = 0, time_ns_ = 0;
};

}  // namespace nl::adapters::proton
