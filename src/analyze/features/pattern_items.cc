// SPDX-License-Identifier: Apache-2.0
#include "analyze/features/pattern_items.h"

#include <algorithm>

#include "base/flat_map.h"
#include "base/has_any.h"

namespace nl::features {

namespace {

using F = KernelFamily;

template <class T>
uint32_t Next(const std::vector<T>& list) {
  return static_cast<uint32_t>(list.size());
}

Role RoleOf(std::string_view name, KernelFamily family) {
  // A convolution may run as a product; what it does is not one.
  if (family == F::kGemm) return HasAny(name, {"conv"}) ? Role::kNone : Role::kGemm;
  if (family == F::kSoftmax || HasAny(name, {"softmax"})) return Role::kSoftmax;
  if (HasAny(name, {"silu", "gelu", "::relu", "hardswish", "mish"}) && !HasAny(name, {"backward"}))
    return Role::kActivation;
  if (HasAny(name, {"::copy_"})) return Role::kCopy;
  if (family == F::kElementwise) return Role::kPointwise;
  if (family == F::kRandom) return Role::kRandom;
  if (name == "aten::cat") return Role::kConcat;
  if (family == F::kReduction || family == F::kNorm) return Role::kReduction;
  return Role::kNone;
}

}  // namespace

// Roles depend on the operator's name and the kernel's family, products on name and inputs: worked out once
// for each.
void PatternItems::Collect(Wanted wanted) {
  FlatMap role_at, product_at;
  std::vector<Role> roles;
  std::vector<Item> products;
  items_.reserve(p_.leaves.size() / 4);
  for (uint32_t i = 0; i < p_.leaves.size(); ++i) {
    const LeafOp& leaf = p_.leaves[i];
    const auto name = static_cast<uint64_t>(p_.timeline.host.name[leaf.node]);
    const uint32_t at = role_at.FindOrPut(MixedPair(name, static_cast<uint64_t>(leaf.family)), Next(roles));
    if (at == roles.size()) roles.push_back(RoleOf(p_.OpName(leaf), leaf.family));
    if (!wanted(roles[at])) continue;
    Item item{i, roles[at], {}};
    if (item.role == Role::kGemm) {
      const uint32_t product = product_at.FindOrPut(MixedPair(name, InputsKey(item)), Next(products));
      if (product == products.size()) products.push_back(Product(item));
      item = products[product];
      item.leaf = i;
    }
    items_.push_back(item);
  }
}

Item PatternItems::Product(Item item) const {
  const OpInputs& inputs = Inputs(item);
  item.gemm = GemmOf(Name(item), inputs.dims).value_or(GemmShape{});
  for (const ElementType type : inputs.types) {
    if (type != ElementType::kUnknown) item.type = type;
    if (type == ElementType::kFp32 || type == ElementType::kHalf) break;
  }
  return item;
}

bool PatternItems::SameStep(const Item& a, const Item& b) const {
  if (p_.steps_repeat) return SameThread(a, b);
  const auto step = [this](const Item& item) {
    const int64_t at_ns = p_.timeline.host.start_ns[p_.leaves[item.leaf].node];
    return std::partition_point(p_.steps.begin(), p_.steps.end(),
                                [at_ns](const Interval& s) { return s.start_ns <= at_ns; });
  };
  return SameThread(a, b) && step(a) == step(b);
}

bool PatternItems::IsHostCopy(const Item& item) const {
  const uint32_t work = p_.leaves[item.leaf].work;
  return p_.timeline.work.kind[work] == WorkKind::kMemcpy &&
         p_.data.Text(p_.data.memcpy.kind[p_.timeline.work.row[work]]) != "DtoD";
}

FeatureSubject PatternItems::SubjectOf(uint32_t module, const Group& group) const {
  const LeafOp& leaf = p_.leaves[group.shown];
  const DeviceWork& w = p_.timeline.work;
  const uint32_t row = p_.timeline.host.row[leaf.node];
  const uint32_t stage = group.Stage();
  FeatureSubject out;
  out.texts["op.name"] = std::string(p_.OpName(leaf).substr(0, 200));
  out.texts["op.module"] = p_.modules.Text(module);
  out.texts["op.stage"] = p_.stages.Text(stage);
  out.texts["op.place"] = p_.Place(p_.OpName(leaf), module, stage);
  out.texts["op.caller"] = p_.PythonAround(leaf.node);
  if (row < p_.data.op.input_dims.size())
    out.texts["op.shapes"] = std::string(p_.data.Text(p_.data.op.input_dims[row]).substr(0, 120));
  out.texts["op.kernel"] = w.kind[leaf.work] == WorkKind::kKernel
                               ? p_.timeline.KernelNameOf(w.name[leaf.work]).short_name
                               : std::string(p_.data.Text(w.name[leaf.work]));
  out.numbers["op.calls"] = static_cast<double>(group.count);
  out.numbers["op.is_generated"] =
      HasAny(p_.OpName(leaf), {"triton_", "Torch-Compiled", "CompiledFunction", "inductor"});
  out.rows.push_back({"op", row, "longest case", Ms(group.shown_ns), "ms"});
  return out;
}

}  // namespace nl::features
