// SPDX-License-Identifier: Apache-2.0
// Patterns in the order of operators: attention written out, fp32 islands in a 16-bit
// model, copies that only move data, optimizers that run one tensor at a time, rows taken one by one.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "analyze/features/pattern_items.h"
#include "analyze/program/per_name.h"
#include "base/has_any.h"

namespace nl::features {

namespace {

using F = KernelFamily;

class Patterns {
 public:
  Patterns(Program& p, Features& out) : p_(p), out_(out), items_(p), list_(items_.list()) {}

  // Blocks are known by their products, activations and softmaxes: nothing else is looked at.
  void Blocks() {
    items_.Collect(
        [](Role role) { return role == Role::kGemm || role == Role::kActivation || role == Role::kSoftmax; });
    if (p_.leaves.empty()) return;
    InferMlp();
    FindAttention();
  }

  std::vector<const char*> Run() {
    items_.Collect([](Role) { return true; });
    if (p_.leaves.empty()) return {};
    InferMlp();
    if (p_.has_types) FindFp32();
    FindAttention();
    AddChains(p_, items_, out_);
    SetZero("op.chain_share");
    FindLayoutCopies();
    SumGemms();
    FindOptimizer();
    FindConvolutionLayouts();
    if (p_.has_shapes) FindRows();
    AddLoops(p_, items_, out_);
    FindProductCasts();
    return zeroed_;
  }

 private:
  // A GEMM to the width of an activation and one back from it are an MLP. For traces without module names.
  void InferMlp() {
    std::vector<size_t> gemms;  // items so far, GEMMs alone
    std::vector<size_t> widths;
    for (size_t i = 0; i < list_.size(); ++i) {
      if (list_[i].role == Role::kGemm) gemms.push_back(i);
      if (list_[i].role == Role::kActivation) widths.push_back(i);
    }
    for (const size_t act : widths) {
      const int64_t width = items_.Inputs(list_[act]).LastDim(0);
      if (width <= 1) continue;
      const auto after = std::upper_bound(gemms.begin(), gemms.end(), act);
      if (after == gemms.begin()) continue;
      // Gate and up projection may both come before the activation; a fused one is twice as wide.
      size_t first = SIZE_MAX;
      for (auto it = after; it != gemms.begin() && after - it < 2;) {
        const GemmShape& g = list_[*--it].gemm;
        if ((g.n != width && g.n != 2 * width) || !items_.SameThread(list_[*it], list_[act])) break;
        first = *it;
      }
      if (first == SIZE_MAX) continue;
      size_t last = first;
      bool closed = false;
      for (auto it = after; it != gemms.end() && it - after < 3 && !closed; ++it) {
        const GemmShape& g = list_[*it].gemm;
        if (!items_.SameThread(list_[*it], list_[act])) break;
        closed = g.k == width;
        last = *it;
        if (!closed && g.n != width) break;
      }
      if (!closed) continue;
      const uint32_t block = p_.modules.Add("MLP (inferred)");
      for (uint32_t leaf = list_[first].leaf; leaf <= list_[last].leaf; ++leaf) p_.leaves[leaf].block = block;
    }
  }

  void FindFp32() {
    int64_t half_ns = 0, fp32_ns = 0;
    std::map<uint32_t, Group> groups;
    std::vector<size_t> casts;  // to fp32, since the last GEMM
    for (size_t i = 0; i < list_.size(); ++i) {
      const Item& item = list_[i];
      if (item.role == Role::kCopy) {
        const std::vector<ElementType>& types = items_.Inputs(item).types;
        if (types.size() > 1 && types[0] == ElementType::kFp32 && types[1] == ElementType::kHalf)
          casts.push_back(i);
      }
      if (item.role != Role::kGemm) continue;
      if (item.type == ElementType::kHalf) half_ns += items_.Ns(item);
      if (item.type == ElementType::kFp32) {
        fp32_ns += items_.Ns(item);
        const LeafOp& leaf = p_.leaves[item.leaf];
        Group& group = groups[p_.ModuleOf(leaf)];
        ++group.count;
        group.ns += items_.Ns(item);
        group.nodes.push_back(leaf.node);
        group.Show(item.leaf, items_.Ns(item), p_.stage_of[leaf.node]);
        TakeCasts(item, casts, group);
      }
      casts.clear();
    }
    out_.run.numbers["run.half_gemm_ms"] = Ms(half_ns);
    out_.run.numbers["run.fp32_gemm_ms"] = Ms(fp32_ns);
    for (const auto& [module, group] : groups) {
      FeatureSubject subject = items_.SubjectOf(module, group);
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
    const OpInputs& inputs = items_.Inputs(gemm);
    std::vector<int64_t> wanted;
    for (size_t input = 0; input < inputs.dims.size(); ++input) {
      if (inputs.Elements(input) > 1) wanted.push_back(inputs.Elements(input));
    }
    for (auto it = casts.rbegin(); it != casts.rend(); ++it) {
      const auto match = std::find(wanted.begin(), wanted.end(), items_.Inputs(list_[*it]).Elements(0));
      if (match == wanted.end()) continue;
      wanted.erase(match);
      ++group.extra_count;
      group.extra_ns += items_.Ns(list_[*it]);
    }
  }

  // Batched GEMM, then a softmax over its columns, then a batched GEMM that takes them.
  void FindAttention() {
    constexpr uint32_t kReach = 12;  // leaves
    const auto apart = [this](size_t from, size_t to) { return list_[to].leaf - list_[from].leaf; };
    std::map<uint32_t, Group> groups;
    size_t first = SIZE_MAX, soft = SIZE_MAX;
    for (size_t i = 0; i < list_.size(); ++i) {
      const Item& item = list_[i];
      if (first != SIZE_MAX && (apart(first, i) > 2 * kReach || !items_.SameThread(list_[first], item)))
        first = soft = SIZE_MAX;
      if (item.role == Role::kSoftmax && first != SIZE_MAX && apart(first, i) <= kReach) soft = i;
      if (item.role != Role::kGemm) continue;
      if (soft != SIZE_MAX && apart(soft, i) <= kReach && Feeds(list_[first], list_[soft], item)) {
        AddAttention(first, i, groups);
        first = soft = SIZE_MAX;
        continue;
      }
      first = item.gemm.batch > 1 || item.gemm.n == 0 ? i : SIZE_MAX;
      soft = SIZE_MAX;
    }
    for (const auto& [module, group] : groups) {
      FeatureSubject subject = items_.SubjectOf(module, group);
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
    return b.gemm.k == a.gemm.n && b.gemm.m == a.gemm.m && items_.Inputs(soft).LastDim(0) == a.gemm.n;
  }

  void AddAttention(size_t first, size_t last, std::map<uint32_t, Group>& groups) {
    const uint32_t block = p_.modules.Add("attention (inferred)");
    int64_t ns = 0;
    for (uint32_t at = list_[first].leaf; at <= list_[last].leaf; ++at) {
      ns += p_.leaves[at].device_ns;
      p_.leaves[at].block = block;
    }
    const LeafOp& leaf = p_.leaves[list_[first].leaf];
    Group& group = groups[p_.ModuleOf(leaf)];
    for (uint32_t at = list_[first].leaf; at <= list_[last].leaf; ++at)
      group.nodes.push_back(p_.leaves[at].node);
    // A fused kernel does the two products and nothing else; it reaches about what they do.
    group.left_ns += 0.5 * static_cast<double>(items_.Ns(list_[first]) + items_.Ns(list_[last]));
    ++group.count;
    group.ns += ns;
    group.members += static_cast<int64_t>(list_[last].leaf - list_[first].leaf + 1);
    group.Show(list_[first].leaf, ns, p_.stage_of[leaf.node]);
  }
  // Takes whole rows in another order; a lookup in a table is not that.
  bool Reorders(const Item& item) const {
    if (p_.leaves[item.leaf].family != F::kIndex || items_.Name(item) != "aten::index_select") return false;
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
    for (const Item& item : list_) {
      if (p_.leaves[item.leaf].family != F::kCopy && !Reorders(item)) continue;
      const WorkKind kind = p_.timeline.work.kind[p_.leaves[item.leaf].work];
      if (IsCast(item) || items_.IsHostCopy(item) || kind == WorkKind::kMemset) continue;
      ns += items_.Ns(item);
      by_op[std::string(items_.Name(item))] += items_.Ns(item);
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

  bool IsCast(const Item& item) const {
    if (item.role != Role::kCopy) return false;
    const std::vector<ElementType>& types = items_.Inputs(item).types;
    return types.size() > 1 ? types[0] != types[1] : NameSaysCast(p_.leaves[item.leaf].work);
  }

  // Operands that autocast converts inside of a product, in every step anew.
  void FindProductCasts() {
    const HostTree& h = p_.timeline.host;
    PerName product(p_.data, [](std::string_view name) {
      return name.starts_with("aten::") && HasAny(name, {"linear", "matmul", "addmm", "bmm", "conv"});
    });
    int64_t ns = 0;
    std::vector<uint32_t>& nodes = out_.run.targets["product_casts"].nodes;
    for (const Item& item : list_) {
      if (!IsCast(item)) continue;
      uint32_t node = p_.leaves[item.leaf].node;
      while (h.parent[node] != kNone && h.kind[h.parent[node]] == HostKind::kOp &&
             !product.Of(h.name[h.parent[node]]))
        node = h.parent[node];
      if (h.parent[node] == kNone || h.kind[h.parent[node]] != HostKind::kOp) continue;
      nodes.push_back(node);
      ns += items_.Ns(item);
    }
    const auto steps = static_cast<double>(p_.steps.size());
    out_.run.numbers["run.product_casts"] = steps > 0 ? static_cast<double>(nodes.size()) / steps : 0;
    int64_t host_ns = 0;
    for (const uint32_t node : nodes) host_ns += h.end_ns[node] - h.start_ns[node];
    out_.run.numbers["run.product_cast_ms"] = Ms(ns);
    out_.run.numbers["run.product_cast_host_ms"] = Ms(host_ns);
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
    for (const Item& item : list_) {
      if (item.role != Role::kGemm || item.gemm.n == 0) continue;  // shapes may be those of some steps only
      gemm_ns += items_.Ns(item);
      if (item.gemm.m == 1 && item.gemm.batch <= 1 && item.gemm.n > 1) one_row_ns += items_.Ns(item);
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
    for (const Item& item : list_) {
      if (item.role != Role::kGemm) continue;
      gemm += items_.Ns(item);
      const GemmShape& g = item.gemm;
      if (g.n == 0 || item.type == ElementType::kUnknown) continue;
      const double m = static_cast<double>(g.m), n = static_cast<double>(g.n), k = static_cast<double>(g.k);
      const double bytes = (item.type == ElementType::kFp32 ? 4 : 2) * (m * k + k * n + m * n);
      const double ai = 2 * m * n * k / bytes;
      shaped += items_.Ns(item);
      if (ai < 100) low += items_.Ns(item);
      if (ai > 400) high += items_.Ns(item);
    }
    if (p_.device_ns <= 0) return;
    out_.run.numbers["run.gemm_share"] = Ratio(gemm, p_.device_ns);
    if (shaped == 0) return;
    out_.run.numbers["run.low_ai_share"] = Ratio(low, p_.device_ns);
    out_.run.numbers["run.high_ai_share"] = Ratio(high, p_.device_ns);
  }

  // The pattern was looked for everywhere; where it was not found, its share is 0.
  void SetZero(const char* name) { zeroed_.push_back(name); }

  Program& p_;
  Features& out_;
  PatternItems items_;
  const std::vector<Item>& list_;  // of items_
  std::vector<const char*> zeroed_;
};

}  // namespace

std::vector<const char*> AddPatterns(Program& program, Features& out) { return Patterns(program, out).Run(); }

void InferBlocks(Program& program) {
  Features unused;
  Patterns(program, unused).Blocks();
}

}  // namespace nl::features
