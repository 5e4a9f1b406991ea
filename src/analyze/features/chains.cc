// SPDX-License-Identifier: Apache-2.0
// Chains of pointwise kernels: what they cost, and what one kernel instead would take.
#include <algorithm>
#include <cmath>
#include <limits>

#include "analyze/features/pattern_items.h"
#include "base/has_any.h"

namespace nl::features {

namespace {

class ChainFinder {
 public:
  ChainFinder(const Program& p, const PatternItems& items, Features& out)
      : p_(p), items_(items), list_(items.list()), out_(out) {}

  // Three or more pointwise kernels in a row on one size: each reads and writes what one could keep.
  // Reductions over that size belong to them (a norm written out), as do kernels on what they reduced it to,
  // random numbers of that size, and parts that are put together to it again. Where no shapes were recorded,
  // the size is that of the grid, and what uses a reduction's result is not known: whatever follows it on
  // that size does.
  void Find() {
    std::map<uint32_t, Group> groups;
    size_t from = 0;
    int64_t size = 0;
    bool reduced = false;  // the chain has a reduction
    const auto close = [&](size_t to) {
      const bool picked = to < list_.size() && PicksFrom(list_[to], size);
      while (to > from && list_[to - 1].role == Role::kReduction) --to;  // nothing uses its result here
      const auto random =
          std::count_if(At(from), At(to), [](const Item& i) { return i.role == Role::kRandom; });
      if (to - from >= 3 + static_cast<size_t>(random)) AddChain(from, to, size, picked, groups);
    };
    for (size_t i = 0; i < list_.size(); ++i) {
      const Item& item = list_[i];
      const bool fits = CanBeFused(item);
      const int64_t elements = fits ? ElementsOf(i) : 0;
      // A reduction leaves at most this part; what follows it must use that.
      constexpr int64_t kReducedTo = 64;
      const bool small = reduced && elements > 1 && elements <= size / kReducedTo;
      const Role before = i > 0 ? list_[i - 1].role : Role::kNone;
      const bool whole = IsSize(elements, size) && (before != Role::kReduction || !p_.has_shapes ||
                                                    HasOperandUpTo(item, size / kReducedTo));
      // Random numbers twice in a row are tensors that are filled, and where sizes are not exact copies are
      // of several tensors.
      const bool filled =
          (item.role == Role::kRandom || (item.role == Role::kCopy && !p_.has_shapes)) && before == item.role;
      const bool continues = fits && size > 1 && i > from && items_.SameStep(list_[from], item) && !filled &&
                             (small || whole || IsPartOf(i, elements, size));
      reduced = (continues && reduced) || (fits && item.role == Role::kReduction);
      if (continues) continue;
      close(i);
      from = fits ? i : i + 1;
      size = elements;
    }
    close(list_.size());
    for (const auto& [module, group] : groups) {
      FeatureSubject subject = items_.SubjectOf(module, group);
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
  }

 private:
  bool HasOperandUpTo(const Item& item, int64_t most) const {
    const OpInputs& inputs = items_.Inputs(item);
    for (size_t input = 0; input < inputs.dims.size() && input < 3; ++input) {
      if (inputs.Elements(input) > 1 && inputs.Elements(input) <= most) return true;
    }
    return false;
  }

  std::vector<Item>::const_iterator At(size_t i) const {
    return list_.begin() + static_cast<std::ptrdiff_t>(i);
  }
  bool CanBeFused(const Item& item) const {
    if (IsFill(items_.Name(item))) return false;  // a compiler keeps nothing of it
    return item.role == Role::kPointwise || item.role == Role::kActivation || item.role == Role::kReduction ||
           item.role == Role::kRandom || item.role == Role::kConcat ||
           (item.role == Role::kCopy && !items_.IsHostCopy(item));
  }
  // By grids, sizes are known to a factor of two: types of different width have blocks of different sizes.
  bool IsSize(int64_t elements, int64_t size) const {
    if (p_.has_shapes) return elements == size;
    return elements > 0 && elements <= 2 * size && size <= 2 * elements;
  }
  // By the grid of its kernel; a reduction has that of its result, and reads what came before.
  int64_t LaunchedElements(size_t i) const {
    constexpr int64_t kOfBlock = 512, kBytes = 4;
    const uint32_t work = p_.leaves[list_[i].leaf].work;
    const uint32_t row = p_.timeline.work.row[work];
    if (p_.timeline.work.kind[work] == WorkKind::kMemcpy) {
      const int64_t bytes = p_.data.memcpy.bytes[row];
      return IsNull(bytes) ? 0 : bytes / kBytes;
    }
    if (list_[i].role == Role::kReduction && i > 0 && items_.SameThread(list_[i], list_[i - 1]) &&
        list_[i - 1].role != Role::kReduction && CanBeFused(list_[i - 1]) &&
        list_[i - 1].role != Role::kConcat)
      return LaunchedElements(i - 1);
    const KernelView& k = p_.data.kernel;
    if (p_.timeline.work.kind[work] != WorkKind::kKernel || row >= k.grid_x.size() || IsNull(k.grid_x[row]) ||
        IsNull(k.grid_y[row]) || IsNull(k.grid_z[row]))
      return 0;
    return int64_t{kOfBlock} * k.grid_x[row] * k.grid_y[row] * k.grid_z[row];
  }
  // Our own recordings have no shapes of lists: what is joined is as large as what uses it next.
  int64_t ElementsOf(size_t i) const {
    const Item& item = list_[i];
    if (!p_.has_shapes && item.role != Role::kConcat) return LaunchedElements(i);
    const OpInputs& inputs = items_.Inputs(item);
    if (item.role == Role::kConcat) {
      const bool asks_next = inputs.list_elements == 0 && i + 1 < list_.size() &&
                             list_[i + 1].role != Role::kConcat && items_.SameThread(item, list_[i + 1]);
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
    if (list_[i].role != Role::kPointwise || elements * kMostParts < size || elements >= size) return false;
    for (size_t next = i + 1; next < std::min(i + 3, list_.size()); ++next) {
      if (list_[next].role == Role::kConcat) return IsSize(ElementsOf(next), size);
    }
    return false;
  }
  // Takes a few values out of what a chain made, which then need not be written.
  bool PicksFrom(const Item& item, int64_t size) const {
    return p_.has_shapes && items_.Name(item) == "aten::gather" && items_.Inputs(item).Elements(0) == size;
  }

  struct Moved {
    double read = 0, written = 0;
  };
  // What a member of a chain over `size` elements moves; small operands and results do not matter.
  Moved MovedBy(size_t i, int64_t size) const {
    const Item& item = list_[i];
    const OpInputs& inputs = items_.Inputs(item);
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
    const bool compares = HasAny(items_.Name(item), {"::gt", "::lt", "::ge", "::le", "::eq", "::ne"});
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
      if (items_.Ns(list_[i]) >= kTimedNs)
        best = std::max(best, (moved.read + moved.written) / static_cast<double>(items_.Ns(list_[i])));
    }
    if (best <= 0 || !p_.has_shapes) return std::numeric_limits<double>::infinity();
    const double outside = std::max(first, read - (written - result));
    return std::max(kShortestNs, (outside + (picked ? 0 : result)) / best);
  }

  void AddChain(size_t from, size_t to, int64_t size, bool picked, std::map<uint32_t, Group>& groups) {
    int64_t ns = 0, longest = 0;
    for (size_t i = from; i < to; ++i) {
      ns += items_.Ns(list_[i]);
      longest = std::max(longest, items_.Ns(list_[i]));
    }
    const LeafOp& leaf = p_.leaves[list_[from].leaf];
    Group& group = groups[p_.ModuleOf(leaf)];
    ++group.count;
    group.ns += ns;
    group.extra_ns += ns - longest;
    // Each reduction makes the fused kernel read its input once more.
    int64_t passes = 1;
    for (size_t i = from; i < to; ++i) {
      passes += list_[i].role == Role::kReduction;
      group.nodes.push_back(p_.leaves[list_[i].leaf].node);
    }
    const auto as_longest = static_cast<double>(std::min(longest * std::min<int64_t>(passes, 2), ns));
    group.left_ns += std::min(as_longest, FusedNs(from, to, size, picked));
    group.members += static_cast<int64_t>(to - from);
    group.Show(list_[from].leaf, ns, p_.stage_of[leaf.node]);
  }

  const Program& p_;
  const PatternItems& items_;
  const std::vector<Item>& list_;
  Features& out_;
  double item_bytes_ = 4;  // of an element that the last member of a chain wrote
};

}  // namespace

void AddChains(const Program& program, const PatternItems& items, Features& out) {
  ChainFinder(program, items, out).Find();
}

}  // namespace nl::features
