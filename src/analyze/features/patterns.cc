// SPDX-License-Identifier: Apache-2.0
// Patterns in the order of operators: attention written out, fp32 islands in a 16-bit
// model, chains of pointwise kernels, copies that only move data, steps that repeat.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "analyze/features/parts.h"
#include "analyze/program/per_name.h"
#include "base/flat_map.h"
#include "base/has_any.h"

namespace nl::features {

namespace {

using F = KernelFamily;

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

class Patterns {
 public:
  Patterns(Program& p, Features& out) : p_(p), out_(out) {}

  // Blocks are known by their products, activations and softmaxes: nothing else is looked at.
  void Blocks() {
    Collect(
        [](Role role) { return role == Role::kGemm || role == Role::kActivation || role == Role::kSoftmax; });
    if (p_.leaves.empty()) return;
    InferMlp();
    FindAttention();
  }

  std::vector<const char*> Run() {
    Collect([](Role) { return true; });
    if (p_.leaves.empty()) return {};
    InferMlp();
    if (p_.has_types) FindFp32();
    FindAttention();
    if (p_.has_shapes) FindChains();
    FindLayoutCopies();
    SumGemms();
    FindOptimizer();
    FindConvolutionLayouts();
    if (p_.has_shapes) FindRows();
    return zeroed_;
  }

 private:
  std::string_view Name(const Item& item) const { return p_.OpName(p_.leaves[item.leaf]); }
  const OpInputs& Inputs(const Item& item) const {
    return p_.InputsOf(p_.timeline.host.row[p_.leaves[item.leaf].node]);
  }
  int64_t Ns(const Item& item) const { return p_.leaves[item.leaf].device_ns; }
  bool SameThread(const Item& a, const Item& b) const {
    const HostTree& h = p_.timeline.host;
    return h.thread[p_.leaves[a.leaf].node] == h.thread[p_.leaves[b.leaf].node];
  }

  bool SameStep(const Item& a, const Item& b) const {
    if (p_.steps_repeat) return SameThread(a, b);
    const auto step = [this](const Item& item) {
      const int64_t at_ns = p_.timeline.host.start_ns[p_.leaves[item.leaf].node];
      return std::partition_point(p_.steps.begin(), p_.steps.end(),
                                  [at_ns](const Interval& s) { return s.start_ns <= at_ns; });
    };
    return SameThread(a, b) && step(a) == step(b);
  }

  // Roles depend on the operator's name and the kernel's family, products on name and inputs: worked out once
  // for each.
  template <class Wanted>
  void Collect(const Wanted& wanted) {
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

  template <class T>
  static uint32_t Next(const std::vector<T>& list) {
    return static_cast<uint32_t>(list.size());
  }
  uint64_t InputsKey(const Item& item) const {
    return p_.InputsKeyOf(p_.timeline.host.row[p_.leaves[item.leaf].node]);
  }
  Item Product(Item item) const {
    const OpInputs& inputs = Inputs(item);
    item.gemm = GemmOf(Name(item), inputs.dims).value_or(GemmShape{});
    for (const ElementType type : inputs.types) {
      if (type != ElementType::kUnknown) item.type = type;
      if (type == ElementType::kFp32 || type == ElementType::kHalf) break;
    }
    return item;
  }

  static Role RoleOf(std::string_view name, F family) {
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

  // A GEMM to the width of an activation and one back from it are an MLP. For traces without module names.
  void InferMlp() {
    std::vector<size_t> gemms;  // items so far, GEMMs alone
    std::vector<size_t> widths;
    for (size_t i = 0; i < items_.size(); ++i) {
      if (items_[i].role == Role::kGemm) gemms.push_back(i);
      if (items_[i].role == Role::kActivation) widths.push_back(i);
    }
    for (const size_t act : widths) {
      const int64_t width = Inputs(items_[act]).LastDim(0);
      if (width <= 1) continue;
      const auto after = std::upper_bound(gemms.begin(), gemms.end(), act);
      if (after == gemms.begin()) continue;
      // Gate and up projection may both come before the activation; a fused one is twice as wide.
      size_t first = SIZE_MAX;
      for (auto it = after; it != gemms.begin() && after - it < 2;) {
        const GemmShape& g = items_[*--it].gemm;
        if ((g.n != width && g.n != 2 * width) || !SameThread(items_[*it], items_[act])) break;
        first = *it;
      }
      if (first == SIZE_MAX) continue;
      size_t last = first;
      bool closed = false;
      for (auto it = after; it != gemms.end() && it - after < 3 && !closed; ++it) {
        const GemmShape& g = items_[*it].gemm;
        if (!SameThread(items_[*it], items_[act])) break;
        closed = g.k == width;
        last = *it;
        if (!closed && g.n != width) break;
      }
      if (!closed) continue;
      const uint32_t block = p_.modules.Add("MLP (inferred)");
      for (uint32_t leaf = items_[first].leaf; leaf <= items_[last].leaf; ++leaf)
        p_.leaves[leaf].block = block;
    }
  }

  void FindFp32() {
    int64_t half_ns = 0, fp32_ns = 0;
    std::map<uint32_t, Group> groups;
    std::vector<size_t> casts;  // to fp32, since the last GEMM
    for (size_t i = 0; i < items_.size(); ++i) {
      const Item& item = items_[i];
      if (item.role == Role::kCopy) {
        const std::vector<ElementType>& types = Inputs(item).types;
        if (types.size() > 1 && types[0] == ElementType::kFp32 && types[1] == ElementType::kHalf)
          casts.push_back(i);
      }
      if (item.role != Role::kGemm) continue;
      if (item.type == ElementType::kHalf) half_ns += Ns(item);
      if (item.type == ElementType::kFp32) {
        fp32_ns += Ns(item);
        const LeafOp& leaf = p_.leaves[item.leaf];
        Group& group = groups[p_.ModuleOf(leaf)];
        ++group.count;
        group.ns += Ns(item);
        group.nodes.push_back(leaf.node);
        group.Show(item.leaf, Ns(item), p_.stage_of[leaf.node]);
        TakeCasts(item, casts, group);
      }
      casts.clear();
    }
    out_.run.numbers["run.half_gemm_ms"] = Ms(half_ns);
    out_.run.numbers["run.fp32_gemm_ms"] = Ms(fp32_ns);
    for (const auto& [module, group] : groups) {
      FeatureSubject subject = SubjectOf(module, group);
      auto& n = subject.numbers;
      n["op.fp32_gemm_ms"] = Ms(group.ns);
      n["op.fp32_gemm_share"] = Ratio(group.ns, p_.device_ns);
      n["op.upcast_calls"] = static_cast<double>(group.extra_count);
      n["op.upcast_ms"] = Ms(group.extra_ns);
      subject.targets["fp32"].nodes = group.nodes;
      out_.ops.push_back(std::move(subject));
    }
    SetZero("op.fp32_gemm_share");
  }

  // The latest cast of each operand's size feeds the product.
  void TakeCasts(const Item& gemm, const std::vector<size_t>& casts, Group& group) {
    const OpInputs& inputs = Inputs(gemm);
    std::vector<int64_t> wanted;
    for (size_t input = 0; input < inputs.dims.size(); ++input) {
      if (inputs.Elements(input) > 1) wanted.push_back(inputs.Elements(input));
    }
    for (auto it = casts.rbegin(); it != casts.rend(); ++it) {
      const auto match = std::find(wanted.begin(), wanted.end(), Inputs(items_[*it]).Elements(0));
      if (match == wanted.end()) continue;
      wanted.erase(match);
      ++group.extra_count;
      group.extra_ns += Ns(items_[*it]);
    }
  }

  // Batched GEMM, then a softmax over its columns, then a batched GEMM that takes them.
  void FindAttention() {
    constexpr uint32_t kReach = 12;  // leaves
    const auto apart = [this](size_t from, size_t to) { return items_[to].leaf - items_[from].leaf; };
    std::map<uint32_t, Group> groups;
    size_t first = SIZE_MAX, soft = SIZE_MAX;
    for (size_t i = 0; i < items_.size(); ++i) {
      const Item& item = items_[i];
      if (first != SIZE_MAX && (apart(first, i) > 2 * kReach || !SameThread(items_[first], item)))
        first = soft = SIZE_MAX;
      if (item.role == Role::kSoftmax && first != SIZE_MAX && apart(first, i) <= kReach) soft = i;
      if (item.role != Role::kGemm) continue;
      if (soft != SIZE_MAX && apart(soft, i) <= kReach && Feeds(items_[first], items_[soft], item)) {
        AddAttention(first, i, groups);
        first = soft = SIZE_MAX;
        continue;
      }
      first = item.gemm.batch > 1 || item.gemm.n == 0 ? i : SIZE_MAX;
      soft = SIZE_MAX;
    }
    for (const auto& [module, group] : groups) {
      FeatureSubject subject = SubjectOf(module, group);
      auto& n = subject.numbers;
      n["op.attention_calls"] = static_cast<double>(group.count);
      n["op.attention_ms"] = Ms(group.ns);
      n["op.attention_share"] = Ratio(group.ns, p_.device_ns);
      n["op.attention_left"] =
          group.ns > 0 ? std::min(1.0, group.left_ns / static_cast<double>(group.ns)) : 1;
      subject.targets["attention"].nodes = group.nodes;
      out_.ops.push_back(std::move(subject));
    }
    SetZero("op.attention_share");
  }

  // Without shapes any GEMM, softmax, GEMM within reach counts; classifier heads have one GEMM only.
  bool Feeds(const Item& a, const Item& soft, const Item& b) const {
    if (!p_.has_shapes) return true;
    if (a.gemm.n == 0 || b.gemm.n == 0) return false;
    return b.gemm.k == a.gemm.n && b.gemm.m == a.gemm.m && Inputs(soft).LastDim(0) == a.gemm.n;
  }

  void AddAttention(size_t first, size_t last, std::map<uint32_t, Group>& groups) {
    const uint32_t block = p_.modules.Add("attention (inferred)");
    int64_t ns = 0;
    for (uint32_t at = items_[first].leaf; at <= items_[last].leaf; ++at) {
      ns += p_.leaves[at].device_ns;
      p_.leaves[at].block = block;
    }
    const LeafOp& leaf = p_.leaves[items_[first].leaf];
    Group& group = groups[p_.ModuleOf(leaf)];
    for (uint32_t at = items_[first].leaf; at <= items_[last].leaf; ++at)
      group.nodes.push_back(p_.leaves[at].node);
    // A fused kernel does the two products and nothing else; it reaches about what they do.
    group.left_ns += 0.5 * static_cast<double>(Ns(items_[first]) + Ns(items_[last]));
    ++group.count;
    group.ns += ns;
    group.members += static_cast<int64_t>(items_[last].leaf - items_[first].leaf + 1);
    group.Show(items_[first].leaf, ns, p_.stage_of[leaf.node]);
  }

  // Three or more pointwise kernels in a row on one size: each reads and writes what one could keep.
  // Reductions over that size belong to them (a norm written out), as do kernels on what they reduced it to,
  // random numbers of that size, and parts that are put together to it again.
  void FindChains() {
    std::map<uint32_t, Group> groups;
    size_t from = 0;
    int64_t size = 0;
    bool reduced = false;  // the chain has a reduction
    const auto close = [&](size_t to) {
      const bool picked = to < items_.size() && PicksFrom(items_[to], size);
      while (to > from && items_[to - 1].role == Role::kReduction) --to;  // nothing uses its result here
      const auto random =
          std::count_if(At(from), At(to), [](const Item& i) { return i.role == Role::kRandom; });
      if (to - from >= 3 + static_cast<size_t>(random)) AddChain(from, to, size, picked, groups);
    };
    for (size_t i = 0; i < items_.size(); ++i) {
      const Item& item = items_[i];
      const bool fits = CanBeFused(item);
      const int64_t elements = fits ? ElementsOf(i) : 0;
      // A reduction leaves at most this part; what follows it must use that.
      constexpr int64_t kReducedTo = 64;
      const bool small = reduced && elements > 1 && elements <= size / kReducedTo;
      const Role before = i > 0 ? items_[i - 1].role : Role::kNone;
      const bool whole =
          elements == size && (before != Role::kReduction || HasOperandUpTo(item, size / kReducedTo));
      // Random numbers twice in a row are tensors that are filled.
      const bool filled = item.role == Role::kRandom && before == Role::kRandom;
      const bool continues = fits && size > 1 && i > from && SameStep(items_[from], item) && !filled &&
                             (small || whole || IsPartOf(i, elements, size));
      reduced = (continues && reduced) || (fits && item.role == Role::kReduction);
      if (continues) continue;
      close(i);
      from = fits ? i : i + 1;
      size = elements;
    }
    close(items_.size());
    for (const auto& [module, group] : groups) {
      FeatureSubject subject = SubjectOf(module, group);
      auto& n = subject.numbers;
      n["op.chains"] = static_cast<double>(group.count);
      n["op.chain_length"] = Ratio(group.members, group.count);
      n["op.chain_ms"] = Ms(group.ns);
      n["op.chain_saved_ms"] = Ms(group.extra_ns);
      n["op.chain_share"] = Ratio(group.ns, p_.device_ns);
      n["op.chain_left"] = group.ns > 0 ? std::min(1.0, group.left_ns / static_cast<double>(group.ns)) : 1;
      subject.targets["chain"].nodes = group.nodes;
      out_.ops.push_back(std::move(subject));
    }
    SetZero("op.chain_share");
  }

  bool HasOperandUpTo(const Item& item, int64_t most) const {
    const OpInputs& inputs = Inputs(item);
    for (size_t input = 0; input < inputs.dims.size() && input < 3; ++input) {
      if (inputs.Elements(input) > 1 && inputs.Elements(input) <= most) return true;
    }
    return false;
  }

  std::vector<Item>::const_iterator At(size_t i) const {
    return items_.begin() + static_cast<std::ptrdiff_t>(i);
  }
  bool CanBeFused(const Item& item) const {
    return item.role == Role::kPointwise || item.role == Role::kActivation || item.role == Role::kReduction ||
           item.role == Role::kRandom || item.role == Role::kConcat ||
           (item.role == Role::kCopy && !IsHostCopy(item));
  }
  // Our own recordings have no shapes of lists: what is joined is as large as what uses it next.
  int64_t ElementsOf(size_t i) const {
    const Item& item = items_[i];
    const OpInputs& inputs = Inputs(item);
    if (item.role == Role::kConcat) {
      const bool asks_next = inputs.list_elements == 0 && i + 1 < items_.size() &&
                             items_[i + 1].role != Role::kConcat && SameThread(item, items_[i + 1]);
      return asks_next ? ElementsOf(i + 1) : inputs.list_elements;
    }
    int64_t elements = 0;
    for (size_t input = 0; input < inputs.dims.size() && input < 3; ++input)
      elements = std::max(elements, inputs.Elements(input));
    return elements;
  }
  // Halves that are changed and joined again, as rotary embeddings do.
  bool IsPartOf(size_t i, int64_t elements, int64_t size) const {
    constexpr int64_t kMostParts = 8;
    if (items_[i].role != Role::kPointwise || elements * kMostParts < size || elements >= size) return false;
    for (size_t next = i + 1; next < std::min(i + 3, items_.size()); ++next) {
      if (items_[next].role == Role::kConcat) return ElementsOf(next) == size;
    }
    return false;
  }
  // Takes a few values out of what a chain made, which then need not be written.
  bool PicksFrom(const Item& item, int64_t size) const {
    return Name(item) == "aten::gather" && Inputs(item).Elements(0) == size;
  }

  struct Moved {
    double read = 0, written = 0;
  };
  // What a member of a chain over `size` elements moves; small operands and results do not matter.
  Moved MovedBy(size_t i, int64_t size) const {
    const Item& item = items_[i];
    const OpInputs& inputs = Inputs(item);
    const auto bytes = [&inputs](size_t input) {
      return static_cast<double>(
          BytesOf(input < inputs.types.size() ? inputs.types[input] : ElementType::kUnknown));
    };
    Moved out;
    const auto elements = static_cast<double>(ElementsOf(i));
    if (item.role == Role::kConcat) return {elements * item_bytes_, elements * item_bytes_};
    // The first operand of these is what they write.
    const bool writes_first = item.role == Role::kCopy || item.role == Role::kRandom;
    for (size_t input = writes_first ? 1 : 0; input < std::min<size_t>(3, inputs.dims.size()); ++input)
      out.read += static_cast<double>(inputs.Elements(input)) * bytes(input);
    const bool compares = HasAny(Name(item), {"::gt", "::lt", "::ge", "::le", "::eq", "::ne"});
    if (item.role != Role::kReduction && elements * 8 >= static_cast<double>(size))
      out.written = elements * (compares ? 1 : bytes(0));
    return out;
  }

  // One kernel for the chain reads what comes from outside and writes the result. Which operands come from
  // outside is not recorded: everything that is read, less what the chain itself wrote. It does so at the
  // rate of the best member.
  double FusedNs(size_t from, size_t to, int64_t size, bool picked) {
    constexpr int64_t kTimedNs = 5'000;  // shorter ones are mostly their start
    constexpr double kShortestNs = 2'000;
    double read = 0, written = 0, result = 0, best = 0, first = 0;
    for (size_t i = from; i < to; ++i) {
      const Moved moved = MovedBy(i, size);
      read += moved.read;
      written += moved.written;
      if (i == from) first = moved.read;
      if (moved.written > 0) {
        result = moved.written;
        item_bytes_ = result / static_cast<double>(std::max<int64_t>(1, ElementsOf(i)));
      }
      if (Ns(items_[i]) >= kTimedNs)
        best = std::max(best, (moved.read + moved.written) / static_cast<double>(Ns(items_[i])));
    }
    if (best <= 0) return std::numeric_limits<double>::infinity();
    const double outside = std::max(first, read - (written - result));
    return std::max(kShortestNs, (outside + (picked ? 0 : result)) / best);
  }

  void AddChain(size_t from, size_t to, int64_t size, bool picked, std::map<uint32_t, Group>& groups) {
    int64_t ns = 0, longest = 0;
    for (size_t i = from; i < to; ++i) {
      ns += Ns(items_[i]);
      longest = std::max(longest, Ns(items_[i]));
    }
    const LeafOp& leaf = p_.leaves[items_[from].leaf];
    Group& group = groups[p_.ModuleOf(leaf)];
    ++group.count;
    group.ns += ns;
    group.extra_ns += ns - longest;
    // Each reduction makes the fused kernel read its input once more.
    int64_t passes = 1;
    for (size_t i = from; i < to; ++i) {
      passes += items_[i].role == Role::kReduction;
      group.nodes.push_back(p_.leaves[items_[i].leaf].node);
    }
    const auto as_longest = static_cast<double>(std::min(longest * std::min<int64_t>(passes, 2), ns));
    group.left_ns += std::min(as_longest, FusedNs(from, to, size, picked));
    group.members += static_cast<int64_t>(to - from);
    group.Show(items_[from].leaf, ns, p_.stage_of[leaf.node]);
  }

  // A copy between host and device, which no kernel can be fused with.
  bool IsHostCopy(const Item& item) const {
    const uint32_t work = p_.leaves[item.leaf].work;
    return p_.timeline.work.kind[work] == WorkKind::kMemcpy &&
           p_.data.Text(p_.data.memcpy.kind[p_.timeline.work.row[work]]) != "DtoD";
  }

  // Takes whole rows in another order; a lookup in a table is not that.
  bool Reorders(const Item& item) const {
    if (p_.leaves[item.leaf].family != F::kIndex || Name(item) != "aten::index_select") return false;
    const uint32_t caller = p_.CallerOf(p_.leaves[item.leaf].node);
    return !HasAny(p_.data.Text(p_.timeline.host.name[caller]), {"embedding"});
  }

  // Kernels of PyTorch that convert types while they copy, where no types were recorded.
  bool NameSaysCast(uint32_t work) const {
    return HasAny(p_.data.Text(p_.timeline.work.name[work]),
                  {"LoadWithCast", "bfloat16_copy_kernel", "float16_copy_kernel", "float8_copy_kernel"});
  }

  void FindLayoutCopies() {
    int64_t ns = 0;
    std::map<std::string, int64_t> by_op;
    for (const Item& item : items_) {
      if (p_.leaves[item.leaf].family != F::kCopy && !Reorders(item)) continue;
      const std::vector<ElementType>& types = Inputs(item).types;
      const bool cast = item.role == Role::kCopy &&
                        (types.size() > 1 ? types[0] != types[1] : NameSaysCast(p_.leaves[item.leaf].work));
      const WorkKind kind = p_.timeline.work.kind[p_.leaves[item.leaf].work];
      if (cast || IsHostCopy(item) || kind == WorkKind::kMemset) continue;
      ns += Ns(item);
      by_op[std::string(Name(item))] += Ns(item);
      out_.run.targets["layout_copies"].nodes.push_back(p_.leaves[item.leaf].node);
    }
    const auto most = std::max_element(by_op.begin(), by_op.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most != by_op.end()) out_.run.texts["run.layout_op"] = most->first.substr(0, 200);
    out_.run.numbers["run.layout_is_cat"] = most != by_op.end() && HasAny(most->first, {"cat", "stack"});
    out_.run.numbers["run.layout_is_index"] = most != by_op.end() && HasAny(most->first, {"index_select"});
    out_.run.numbers["run.layout_copy_ms"] = Ms(ns);
    if (p_.device_ns > 0) out_.run.numbers["run.layout_copy_share"] = Ratio(ns, p_.device_ns);
  }

  // Optimizers that run operators one tensor at a time.
  void FindOptimizer() {
    const HostTree& h = p_.timeline.host;
    const DeviceWork& w = p_.timeline.work;
    std::vector<uint32_t> calls;
    PerName step(p_.data, [](std::string_view name) { return name.starts_with("Optimizer.step#"); });
    for (uint32_t i = 0; i < h.size(); ++i) {
      if (h.kind[i] != HostKind::kApi && step.Of(h.name[i])) calls.push_back(i);
    }
    out_.run.numbers["run.optimizer_kernels"] = 0;
    out_.run.numbers["run.optimizer_fused_share"] = 1;
    if (calls.empty()) return;
    int64_t kernels = 0, fused = 0, ns = 0;
    PerName many(p_.data, [](std::string_view name) {
      return HasAny(name, {"multi_tensor", "foreach", "Fused", "fused"});
    });
    for (size_t i = 0; i < w.size(); ++i) {
      if (w.kind[i] != WorkKind::kKernel || w.launch[i] == kNone) continue;
      const auto at = std::upper_bound(calls.begin(), calls.end(), w.launch[i]);
      if (at == calls.begin() || w.launch[i] >= h.last[*(at - 1)]) continue;
      ++kernels;
      ns += w.end_ns[i] - w.start_ns[i];
      fused += many.Of(w.name[i]);
    }
    auto& n = out_.run.numbers;
    n["run.optimizer_calls"] = static_cast<double>(calls.size());
    n["run.optimizer_kernels"] = Ratio(kernels, static_cast<int64_t>(calls.size()));
    n["run.optimizer_fused_share"] = kernels > 0 ? Ratio(fused, kernels) : 1;
    n["run.optimizer_device_ms"] = Ms(ns);
    int64_t host_ns = 0;
    for (const uint32_t call : calls) host_ns += h.end_ns[call] - h.start_ns[call];
    n["run.optimizer_host_ms"] = Ms(host_ns);
    std::string_view name = p_.data.Text(h.name[calls[0]]);
    name.remove_prefix(std::min(name.size(), std::string_view("Optimizer.step#").size()));
    out_.run.texts["run.optimizer"] = std::string(name.substr(0, name.find('.')));
    out_.run.targets["optimizer"].nodes = std::move(calls);
  }

  // cuDNN changes the layout before and after a convolution whose tensors are not channels_last.
  void FindConvolutionLayouts() {
    const DeviceWork& w = p_.timeline.work;
    int64_t ns = 0;
    PerName layout(p_.data, [](std::string_view name) { return HasAny(name, {"nchwToNhwc", "nhwcToNchw"}); });
    for (uint32_t i = 0; i < w.size(); ++i) {
      if (w.kind[i] != WorkKind::kKernel || !layout.Of(w.name[i])) continue;
      ns += w.end_ns[i] - w.start_ns[i];
      out_.run.targets["conv_layout"].works.push_back(i);
    }
    out_.run.numbers["run.conv_layout_ms"] = Ms(ns);
    if (p_.device_ns > 0) out_.run.numbers["run.conv_layout_share"] = Ratio(ns, p_.device_ns);
  }

  // A batch whose rows are taken one by one, each for its own products of one row.
  void FindRows() {
    const HostTree& h = p_.timeline.host;
    int64_t one_row_ns = 0, gemm_ns = 0;
    for (const Item& item : items_) {
      if (item.role != Role::kGemm || item.gemm.n == 0) continue;  // shapes may be those of some steps only
      gemm_ns += Ns(item);
      if (item.gemm.m == 1 && item.gemm.batch <= 1 && item.gemm.n > 1) one_row_ns += Ns(item);
    }
    out_.run.numbers["run.rows_apart"] = 1;
    out_.run.numbers["run.one_row_share"] = gemm_ns > 0 ? Ratio(one_row_ns, gemm_ns) : 0;
    out_.run.numbers["run.one_row_ms"] = Ms(one_row_ns);
    if (gemm_ns == 0 || 2 * one_row_ns < gemm_ns) return;
    std::map<uint64_t, std::pair<int64_t, int64_t>> selects;  // by inputs: calls, rows
    int64_t unshaped = 0;
    for (uint32_t i = 0; i < h.size(); ++i) {
      if (h.kind[i] != HostKind::kOp || IsNull(h.name[i]) || p_.data.Text(h.name[i]) != "aten::select")
        continue;
      const OpInputs& inputs = p_.InputsOf(h.row[i]);
      if (inputs.dims.empty()) ++unshaped;
      if (inputs.dims.empty() || inputs.dims[0].size() < 2) continue;
      auto& [calls, rows] = selects[p_.InputsKeyOf(h.row[i])];
      ++calls;
      rows = inputs.dims[0][0];
    }
    int64_t most = 1;
    for (const auto& [key, entry] : selects) {
      const auto& [calls, rows] = entry;
      if (rows >= 4 && (calls % rows == 0 || (calls + unshaped) % rows == 0)) most = std::max(most, rows);
    }
    if (most == 1) return;
    out_.run.numbers["run.rows_apart"] = static_cast<double>(most);
  }

  // FLOP per byte of a product by its shape alone, for 16-bit types whose ridge is 150 or more everywhere.
  void SumGemms() {
    int64_t gemm = 0, low = 0, high = 0, shaped = 0;
    for (const Item& item : items_) {
      if (item.role != Role::kGemm) continue;
      gemm += Ns(item);
      const GemmShape& g = item.gemm;
      if (g.n == 0 || item.type == ElementType::kUnknown) continue;
      const double m = static_cast<double>(g.m), n = static_cast<double>(g.n), k = static_cast<double>(g.k);
      const double bytes = (item.type == ElementType::kFp32 ? 4 : 2) * (m * k + k * n + m * n);
      const double ai = 2 * m * n * k / bytes;
      shaped += Ns(item);
      if (ai < 100) low += Ns(item);
      if (ai > 400) high += Ns(item);
    }
    if (p_.device_ns <= 0) return;
    out_.run.numbers["run.gemm_share"] = Ratio(gemm, p_.device_ns);
    if (shaped == 0) return;
    out_.run.numbers["run.low_ai_share"] = Ratio(low, p_.device_ns);
    out_.run.numbers["run.high_ai_share"] = Ratio(high, p_.device_ns);
  }

  FeatureSubject SubjectOf(uint32_t module, const Group& group) const {
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
  // The pattern was looked for everywhere; where it was not found, its share is 0.
  void SetZero(const char* name) { zeroed_.push_back(name); }

  Program& p_;
  Features& out_;
  std::vector<Item> items_;
  std::vector<const char*> zeroed_;
  double item_bytes_ = 4;  // of an element that the last member of a chain wrote
};

}  // namespace

std::vector<const char*> AddPatterns(Program& program, Features& out) { return Patterns(program, out).Run(); }

void InferBlocks(Program& program) {
  Features unused;
  Patterns(program, unused).Blocks();
}

}  // namespace nl::features
