// SPDX-License-Identifier: Apache-2.0
#pragma once
// What one call of a framework op computes and moves, from its name, input shapes, types
// and scalar inputs, as Kineto records them. FLOPs: a multiply and an add are two; matrix
// products, convolutions and attention are counted exactly, pointwise work as one per
// element, reductions as one per element read, norms and softmax as five. Bytes: every
// input read once, every output written once. An op without a formula is unknown, with
// the reason; nothing is assumed.
// Thread rule: OpCostOf is pure; a CostTable belongs to one thread.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyze/run_data.h"

namespace nl {

struct OpCost {
  std::optional<double> flops, bytes;
  std::string dtype;    // as NormalDtype spells it; of the operands of a matrix product
  bool matrix = false;  // runs on matrix units: the peak of its dtype applies
  // Bound by memory whatever its unknown FLOPs are: kernels that torch.compile fused from pointwise work.
  bool memory_only = false;
  bool type_from_kernel = false;  // the types of the inputs were taken from the name of a kernel
  std::string reason;             // why flops or bytes are unknown; empty when both are known
};

// The texts are the JSON of the op table: [[8,512],[512,64],[]], ["float","float","Scalar"],
// ["","","1"]. Empty text: not recorded.
OpCost OpCostOf(std::string_view name, std::string_view dims, std::string_view types,
                std::string_view concrete);

inline constexpr Reads kCostTableReads = NL_READS(Op, name, input_dims, input_types, concrete_inputs);

// Costs of the ops of a run, each distinct (name, dims, types, scalars) worked out once.
class CostTable {
 public:
  explicit CostTable(const RunData& data) : data_(data) {}
  // Number of the cost of a row of table `op`; stable for the table's life. `dtype`: of its tensors, where
  // the row has shapes and no types; empty: not known.
  uint32_t SlotOf(size_t op_row, std::string_view dtype = {});
  const OpCost& Cost(uint32_t slot) const { return costs_[slot]; }
  size_t size() const { return costs_.size(); }

 private:
  struct Key {
    StringId name, dims, types, concrete;
    std::string_view dtype;  // a literal of KernelDtype; empty when the types were recorded
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& k) const;
  };
  const RunData& data_;
  std::unordered_map<Key, uint32_t, Hash> slots_;
  std::vector<OpCost> costs_;
};

}  // namespace nl
