// SPDX-License-Identifier: Apache-2.0
#pragma once
// The operators of a program in their order, with what patterns ask of each (patterns.cc, chains.cc),
// and what a pattern costs by module.
// Thread rule: one thread; the program must outlive it.

#include <map>
#include <vector>

#include "analyze/features/parts.h"
#include "base/has_any.h"

namespace nl::features {

enum class Role : uint8_t {
  kNone,
  kGemm,
  kActivation,
  kSoftmax,
  kCopy,
  kPointwise,
  kReduction,
  kRandom,
  kConcat
};

// Writes a constant, such as zeros into a gradient.
inline bool IsFill(std::string_view op) { return HasAny(op, {"::fill_", "::zero_"}); }

struct Item {  // a leaf, with what patterns ask of it
  uint32_t leaf;
  Role role;
  GemmShape gemm;
  ElementType type = ElementType::kUnknown;
};

// Costs of one pattern, grouped by module, with the call that shows it best.
struct Group {
  int64_t count = 0, ns = 0, extra_ns = 0, extra_count = 0, members = 0, shown_ns = -1;
  double left_ns = 0;           // what the fix leaves of ns
  std::vector<uint32_t> nodes;  // of the operators
  uint32_t shown = kNone;
  std::map<uint32_t, int64_t> stages;
  void Show(uint32_t leaf, int64_t leaf_ns, uint32_t stage) {
    stages[stage] += leaf_ns;
    if (leaf_ns > shown_ns) {
      shown_ns = leaf_ns;
      shown = leaf;
    }
  }
  uint32_t Stage() const {
    uint32_t best = kNone;
    int64_t most = -1;
    for (const auto& [stage, ns] : stages) {
      if (ns > most) {
        best = stage;
        most = ns;
      }
    }
    return best;
  }
};

class PatternItems {
 public:
  explicit PatternItems(Program& p) : p_(p) {}

  // The leaves whose role is wanted.
  using Wanted = bool (*)(Role role);
  void Collect(Wanted wanted);
  const std::vector<Item>& list() const { return items_; }

  std::string_view Name(const Item& item) const { return p_.OpName(p_.leaves[item.leaf]); }
  const OpInputs& Inputs(const Item& item) const {
    return p_.InputsOf(p_.timeline.host.row[p_.leaves[item.leaf].node]);
  }
  int64_t Ns(const Item& item) const { return p_.leaves[item.leaf].device_ns; }
  bool SameThread(const Item& a, const Item& b) const {
    const HostTree& h = p_.timeline.host;
    return h.thread[p_.leaves[a.leaf].node] == h.thread[p_.leaves[b.leaf].node];
  }
  bool SameStep(const Item& a, const Item& b) const;
  // A copy between host and device, which no kernel can be fused with.
  bool IsHostCopy(const Item& item) const;
  FeatureSubject SubjectOf(uint32_t module, const Group& group) const;

 private:
  uint64_t InputsKey(const Item& item) const {
    return p_.InputsKeyOf(p_.timeline.host.row[p_.leaves[item.leaf].node]);
  }
  Item Product(Item item) const;

  Program& p_;
  std::vector<Item> items_;
};

// Chains of pointwise kernels that one kernel could replace.
void AddChains(const Program& program, const PatternItems& items, Features& out);
// Loops over rows or tensors that one call, or a function for lists of tensors, could replace.
void AddLoops(const Program& program, const PatternItems& items, Features& out);

}  // namespace nl::features
