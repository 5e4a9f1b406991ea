// SPDX-License-Identifier: Apache-2.0
#include "analyze/compare/attribute/cause.h"

#include <algorithm>
#include <array>
#include <set>

namespace nl {

std::span<const std::string_view> NamesOf(Cause) {
  static constexpr std::array<std::string_view, 26> kNames = {"kernel_slower",
                                                              "kernel_faster",
                                                              "kernel_replaced",
                                                              "kernels_added",
                                                              "kernels_removed",
                                                              "shape_changed",
                                                              "dtype_changed",
                                                              "precision_upcast",
                                                              "host_slower",
                                                              "host_faster",
                                                              "sync_added",
                                                              "sync_removed",
                                                              "copy_added",
                                                              "copy_removed",
                                                              "fusion_lost",
                                                              "fusion_gained",
                                                              "layout_copy_added",
                                                              "layout_copy_removed",
                                                              "attention_impl_changed",
                                                              "graph_added",
                                                              "graph_removed",
                                                              "contention",
                                                              "clock_changed",
                                                              "work_changed",
                                                              "recording",
                                                              "noise"};
  static_assert(static_cast<size_t>(Cause::kNoise) + 1 == kNames.size());
  return kNames;
}

std::string_view CauseName(Cause cause) { return NamesOf(cause)[static_cast<size_t>(cause)]; }

namespace compare {

namespace {

bool Has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

constexpr int64_t kSmallCopyBytes = 64 << 10;  // a smaller copy to the host reads a value, so it is a sync

}  // namespace

CallFacts FactsOf(const CallSequence& sequence, uint32_t call) {
  CallFacts f;
  const CallType& c = sequence.Type(call);
  const std::string_view op = sequence.Text(c.op), types = sequence.Text(c.types);
  f.half = Has(types, "BFloat16") || Has(types, "Half");
  f.fp32 = Has(types, "\"float\"");
  const RunData& data = sequence.run->data();
  if (c.kind == CallKind::kCopy) {
    const uint32_t row = sequence.calls[call].row;
    f.copy_kind = std::string(sequence.Text(data.memcpy.kind[row]));
    const std::string_view from = sequence.Text(data.memcpy.src_memory[row]),
                           to = sequence.Text(data.memcpy.dst_memory[row]);
    for (const std::string_view side : {from, to}) {
      if (Has(side, "ageable")) f.copy_memory = "pageable";
      if (Has(side, "inned")) f.copy_memory = "pinned";
    }
    return f;
  }
  if (c.kind != CallKind::kKernel) return f;
  const bool copy_op = Has(op, "copy_") || Has(op, "clone") || Has(op, "contiguous") || Has(op, "::to");
  if (copy_op || (c.op_hash == 0 && c.family == KernelFamily::kCopy)) {
    // copy_(destination, source): a cast if the first two types differ.
    const size_t first = types.find('"'), first_end = types.find('"', first + 1);
    const size_t second = types.find('"', first_end + 1), second_end = types.find('"', second + 1);
    if (second_end != std::string_view::npos) {
      const std::string_view to = types.substr(first + 1, first_end - first - 1),
                             from = types.substr(second + 1, second_end - second - 1);
      f.cast = to != from && !to.empty() && !from.empty();
      f.cast_to_fp32 = f.cast && to == "float" && from != "double";
    }
    f.layout_copy = !f.cast;
  }
  if (Has(op, "transpose_copy") || Has(op, "permute_copy")) f.layout_copy = true;
  f.gemm = c.family == KernelFamily::kGemm;
  f.attention = c.family == KernelFamily::kAttention;
  f.attention_part = c.family == KernelFamily::kSoftmax || Has(op, "bmm") || Has(op, "softmax") ||
                     (f.gemm && Has(op, "matmul"));
  return f;
}

namespace {

// The parts of a cluster by kind, each with its affected time.
class Content {
 public:
  Content(const CallSequence& a, const CallSequence& b, const Alignment& al, const Changes& changes,
          const Cluster& cluster)
      : a_(a), b_(b) {
    const Match& segments = al.segments[al.segment_of[cluster.first]];
    graphs_in_a_ = segments.a != kNone && a.segments[segments.a].graph;
    graphs_in_b_ = segments.b != kNone && b.segments[segments.b].graph;
    for (uint32_t i = cluster.first; i < cluster.last; ++i) {
      if (!IsStructural(changes.change[i])) continue;
      const Match& m = al.calls[i];
      Add(changes.change[i], m);
    }
  }

  ClusterCause Cause(bool layers_changed) const {
    using C = nl::Cause;
    if (graph_b_ > 0 && graphs_in_b_ && !graphs_in_a_) return {C::kGraphAdded, ""};
    if (graph_a_ > 0 && graphs_in_a_ && !graphs_in_b_) return {C::kGraphRemoved, ""};
    if (upcast_ns_ + cast_ns_ >= 0.3 * all_ns_ && upcasts_ > 0) return {C::kPrecisionUpcast, ""};
    if (downcast_ns_ + uncast_ns_ >= 0.3 * all_ns_ && downcast_ns_ > 0)
      return {C::kDtypeChanged, "fp32 to 16 bits"};
    if (retyped_ns_ >= 0.5 * all_ns_ && retyped_ > 0) return {C::kDtypeChanged, ""};
    if (AttentionChanged()) return {C::kAttentionImplChanged, ""};
    if (const ClusterCause host = HostCause(); host.cause != C::kNoise) return host;
    return KernelCause(layers_changed);
  }

 private:
  void Add(uint8_t change, const Match& m) {
    const CallType* const a = m.a == kNone ? nullptr : &a_.Type(m.a);
    const CallType* const b = m.b == kNone ? nullptr : &b_.Type(m.b);
    const CallType& any = b != nullptr ? *b : *a;
    const double ns = Stake(change, m);
    all_ns_ += ns;
    const CallFacts fa = a == nullptr ? CallFacts() : FactsOf(a_, m.a);
    const CallFacts fb = b == nullptr ? CallFacts() : FactsOf(b_, m.b);
    const CallFacts& f = b != nullptr ? fb : fa;
    graph_a_ += a != nullptr && a->graph;
    graph_b_ += b != nullptr && b->graph;
    const bool work = any.kind == CallKind::kKernel || any.kind == CallKind::kMemset;
    if (work) {
      kernels_a_ += a == nullptr ? 0 : a->kernels;
      kernels_b_ += b == nullptr ? 0 : b->kernels;
      gone_ += b == nullptr;
      added_ += a == nullptr;
    }
    const bool retyped = (change & kTypeChanged) != 0 && (change & kOpChanged) == 0;
    if (retyped) AddRetyped(fa, fb, ns);
    const bool alone = (change & (kInserted | kDeleted)) != 0;
    if (alone && b != nullptr && fb.cast_to_fp32) cast_ns_ += ns;
    if (alone && a != nullptr && fa.cast_to_fp32) uncast_ns_ += ns;
    if (!retyped) {
      const bool swapped = (change & kKernelChanged) != 0;
      if ((alone || swapped) && (f.attention || f.attention_part)) attention_ns_ += ns;
      if (a != nullptr && (alone || swapped)) only_a_.Add(*a, fa);
      if (b != nullptr && (alone || swapped)) only_b_.Add(*b, fb);
    }
    if (any.kind == CallKind::kCopy && alone) {
      (a == nullptr ? copies_in_ : copies_out_) += 1;
      copy_ns_ += ns;
      bytes_ = std::max(bytes_, any.bytes);
      if (f.copy_kind != "DtoD" && any.bytes < kSmallCopyBytes) small_copies_ += 1;
      if (ns >= copy_most_ns_) {
        copy_most_ns_ = ns;
        copy_ = f.copy_kind + (f.copy_memory.empty() ? "" : " " + f.copy_memory);
      }
    }
    if (any.kind == CallKind::kSync && alone) {
      (a == nullptr ? syncs_in_ : syncs_out_) += 1;
      sync_ns_ += ns;
    }
    if (any.kind == CallKind::kAlloc && alone) {
      (a == nullptr ? allocs_in_ : allocs_out_) += 1;
      alloc_ns_ += ns;
    }
    if (work && alone && (f.layout_copy || f.cast)) copies_alone_ns_ += ns;
    if (work && alone) alone_ns_ += ns;
    if ((change & kOpChanged) != 0) rewritten_ += 1;
    if ((change & kKernelChanged) != 0 && !alone) replaced_ns_ += ns;
  }

  // Fused on one side and composed of several kernels on the other, with any amount of copying; or different
  // kernels. Attention that was only removed or moved is not a different implementation.
  bool AttentionChanged() const {
    const bool fused_a = !only_a_.attention.empty(), fused_b = !only_b_.attention.empty();
    if (fused_a != fused_b) return (fused_a ? only_b_ : only_a_).attention_parts > 0;
    return attention_ns_ >= 0.2 * all_ns_ && !Holds(only_a_.attention, only_b_.attention) &&
           !Holds(only_b_.attention, only_a_.attention);
  }

  // The affected time. A pair with only different types or kernels keeps its host time.
  double Stake(uint8_t change, const Match& m) const {
    const bool whole = IsWhole(change);
    const auto of = [whole](const Costs& c) { return whole ? c.total_ns() : c.busy_ns(); };
    double ns = 1;
    if (m.a != kNone) ns += static_cast<double>(of(a_.costs[m.a]));
    if (m.b != kNone) ns += static_cast<double>(of(b_.costs[m.b]));
    return ns;
  }

  void AddRetyped(const CallFacts& fa, const CallFacts& fb, double ns) {
    ++retyped_;
    retyped_ns_ += ns;
    if (fa.half && !fb.half && fb.fp32) {
      upcasts_ += 1;
      upcast_ns_ += ns;
    }
    if (fb.half && !fa.half && fa.fp32) downcast_ns_ += ns;
  }

  ClusterCause HostCause() const {
    using C = nl::Cause;
    const double host_ns = copy_ns_ + sync_ns_ + alloc_ns_;
    if (host_ns < 0.4 * all_ns_) return {};
    const bool values_only = copies_in_ + copies_out_ > 0 && small_copies_ == copies_in_ + copies_out_;
    if (copies_in_ + copies_out_ > 0 && !values_only && copy_ns_ + sync_ns_ >= alloc_ns_)
      return {copies_in_ >= copies_out_ ? C::kCopyAdded : C::kCopyRemoved, copy_};
    if (syncs_in_ + syncs_out_ + copies_in_ + copies_out_ > 0 && sync_ns_ + copy_ns_ >= alloc_ns_)
      return {syncs_in_ + copies_in_ >= syncs_out_ + copies_out_ ? C::kSyncAdded : C::kSyncRemoved, ""};
    if (allocs_in_ + allocs_out_ > 0)
      return {allocs_in_ >= allocs_out_ ? C::kHostSlower : C::kHostFaster, "allocation"};
    return {};
  }

  ClusterCause KernelCause(bool layers_changed) const {
    using C = nl::Cause;
    if (gone_ == 0 && added_ == 0) {
      if (rewritten_ > 0 && kernels_a_ != kernels_b_)
        return {kernels_b_ < kernels_a_ ? C::kFusionGained : C::kFusionLost, ""};
      return {C::kKernelReplaced, ""};
    }
    if (replaced_ns_ > alone_ns_) return {C::kKernelReplaced, ""};
    // More or fewer of the same kernels, where the model has more or fewer layers.
    const bool same = Holds(only_a_.kernels, only_b_.kernels) || Holds(only_b_.kernels, only_a_.kernels);
    if (layers_changed && (gone_ == 0 || added_ == 0 || same)) return {C::kWorkChanged, ""};
    if (added_ > 0 && gone_ > 0 && kernels_a_ != kernels_b_)
      return {kernels_b_ < kernels_a_ ? C::kFusionGained : C::kFusionLost, ""};
    if (added_ > 0 && gone_ > 0) return {C::kKernelReplaced, ""};
    const bool copies = copies_alone_ns_ > 0.5 * alone_ns_;
    if (added_ > 0) return {copies ? C::kLayoutCopyAdded : C::kKernelsAdded, ""};
    return {copies ? C::kLayoutCopyRemoved : C::kKernelsRemoved, ""};
  }

  // What only one side has, or what is different.
  struct Only {
    std::set<uint64_t> kernels, attention;
    int64_t attention_parts = 0;

    void Add(const CallType& type, const CallFacts& facts) {
      if (type.kind == CallKind::kKernel) kernels.insert(type.kernel_hash);
      if (facts.attention) attention.insert(type.kernel_hash);
      attention_parts += facts.attention_part;
    }
  };
  static bool Holds(const std::set<uint64_t>& all, const std::set<uint64_t>& some) {
    return std::includes(all.begin(), all.end(), some.begin(), some.end());
  }

  const CallSequence &a_, &b_;
  Only only_a_, only_b_;
  bool graphs_in_a_ = false, graphs_in_b_ = false;
  double all_ns_ = 0, upcast_ns_ = 0, cast_ns_ = 0, downcast_ns_ = 0, uncast_ns_ = 0, replaced_ns_ = 0,
         retyped_ns_ = 0, attention_ns_ = 0, copy_ns_ = 0, sync_ns_ = 0, alloc_ns_ = 0, copies_alone_ns_ = 0,
         alone_ns_ = 0, copy_most_ns_ = -1;
  int64_t graph_a_ = 0, graph_b_ = 0, kernels_a_ = 0, kernels_b_ = 0, gone_ = 0, added_ = 0, upcasts_ = 0,
          retyped_ = 0, copies_in_ = 0, copies_out_ = 0, small_copies_ = 0, syncs_in_ = 0, syncs_out_ = 0,
          allocs_in_ = 0, allocs_out_ = 0, rewritten_ = 0, bytes_ = 0;
  std::string copy_;
};

}  // namespace

ClusterCause ClassifyCluster(const CallSequence& a, const CallSequence& b, const Alignment& al,
                             const Changes& changes, const Cluster& cluster, bool layers_changed) {
  return Content(a, b, al, changes, cluster).Cause(layers_changed);
}

}  // namespace compare
}  // namespace nl
