// SPDX-License-Identifier: Apache-2.0
#include "analyze/replay/gap_groups.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

#include "analyze/replay/host_stretches.h"
#include "base/has_any.h"

namespace nl::replay {

namespace {

std::string PlaceOf(std::string_view inside, std::string_view before, std::string_view after) {
  if (!inside.empty()) return fmt::format("in {}", inside.substr(0, 120));
  if (!before.empty() && !after.empty()) {
    return before == after ? fmt::format("between one {} and the next", before.substr(0, 120))
                           : fmt::format("between {} and {}", before.substr(0, 120), after.substr(0, 120));
  }
  if (!before.empty()) return fmt::format("after {}", before.substr(0, 120));
  return after.empty() ? "outside of all operators" : fmt::format("before {}", after.substr(0, 120));
}

// Whether an operator computes something. Those that only look at tensors in another way, and what a
// framework records about itself under the name of an operator, are host code like any other.
bool Computes(std::string_view op) {
  if (op.find("::") == std::string_view::npos || op.starts_with("autograd::")) return false;
  return !HasAny(op, {"flatten", "view", "reshape", "split", "chunk", "narrow", "slice", "unbind", "expand",
                      "permute", "transpose", "detach", "as_strided", "select", "squeeze"});
}

class Grouping {
 public:
  explicit Grouping(const StepReplay& steps) : s_(steps) {
    ByPlace();
    Join(FindHostStretches(steps));
  }
  std::vector<GapGroup> Take() {
    std::vector<GapGroup> out;
    for (size_t g = 0; g < groups_.size(); ++g) {
      if (root_[g] == g) out.push_back(std::move(groups_[g]));
    }
    std::stable_sort(out.begin(), out.end(),
                     [](const GapGroup& a, const GapGroup& b) { return a.ns > b.ns; });
    return out;
  }

 private:
  std::string_view NameOf(uint32_t node) const {
    const HostTree& h = s_.timeline().host;
    return node == kNone || IsNull(h.name[node]) ? std::string_view() : s_.data().Text(h.name[node]);
  }
  int64_t LengthOf(uint32_t gap) const { return s_.gaps()[gap].end_ns - s_.gaps()[gap].start_ns; }

  // Groups of gaps with the same names around them.
  void ByPlace() {
    // At the ends of the window a gap has one neighbour; it is the same code as the gap that has both.
    std::map<std::string_view, std::string_view> after_of, before_of;
    for (const HostGap& gap : s_.gaps()) {
      if (gap.before == kNone || gap.after == kNone) continue;
      after_of.emplace(NameOf(gap.before), NameOf(gap.after));
      before_of.emplace(NameOf(gap.after), NameOf(gap.before));
    }
    std::map<std::tuple<std::string_view, std::string_view, std::string_view>, size_t> known;
    for (uint32_t i = 0; i < s_.gaps().size(); ++i) {
      const HostGap& gap = s_.gaps()[i];
      // A module is meant for the device; a range of the program's own says what the host code is for.
      const std::string_view range = NameOf(gap.inside);
      const bool named_by_op = gap.op != kNone && (range.empty() || range.starts_with("nn.Module: "));
      const std::string_view inside = named_by_op ? NameOf(gap.op) : range;
      const bool is_loader = HasAny(inside, {"DataLoader", "dataloader", "data_loader"});
      const bool is_op = named_by_op && !is_loader && Computes(inside);
      std::string_view before = NameOf(gap.before), after = NameOf(gap.after);
      if (after.empty() && after_of.count(before) > 0) after = after_of[before];
      if (before.empty() && before_of.count(after) > 0) before = before_of[after];
      if (!inside.empty()) before = after = {};
      const auto [at, added] = known.try_emplace({inside, before, after}, groups_.size());
      if (added) groups_.emplace_back();
      GapGroup& group = groups_[at->second];
      group.place = PlaceOf(inside, before, after);
      group.is_loader = is_loader;
      if (is_op) group.op = inside.substr(0, 120);
      if (is_op) group.op_ns += LengthOf(i);
      group.ns += LengthOf(i);
      group.gaps.push_back(i);
      group_of_.push_back(at->second);
    }
    root_.resize(groups_.size());
    std::iota(root_.begin(), root_.end(), size_t{0});
  }

  size_t RootOf(size_t group) const {
    while (root_[group] != group) group = root_[group];
    return group;
  }

  // The group with most time in a stretch; none where it waits for a data loader, which is a matter of its
  // own.
  std::optional<size_t> MainOf(const HostStretch& stretch) const {
    std::map<size_t, int64_t> ns;
    for (const uint32_t gap : stretch.gaps) ns[group_of_[gap]] += LengthOf(gap);
    for (const auto& [group, time_ns] : ns) {
      if (groups_[group].is_loader) return std::nullopt;
    }
    return std::max_element(ns.begin(), ns.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; })
        ->first;
  }

  // A group joins another when most of its time is in stretches of which the other has the most.
  void Join(const std::vector<HostStretch>& stretches) {
    std::map<std::pair<size_t, size_t>, int64_t> shared_ns;
    for (const HostStretch& stretch : stretches) {
      const std::optional<size_t> main = MainOf(stretch);
      if (!main) continue;
      for (const uint32_t gap : stretch.gaps) shared_ns[{group_of_[gap], *main}] += LengthOf(gap);
    }
    for (const auto& [pair, ns] : shared_ns) {
      const auto [part, main] = pair;
      if (part != main && 2 * ns >= groups_[part].ns && RootOf(part) != RootOf(main))
        root_[RootOf(part)] = RootOf(main);
    }
    const std::vector<GapGroup> parts = groups_;
    for (size_t g = 0; g < groups_.size(); ++g) {
      if (RootOf(g) != g) Add(parts[g], groups_[RootOf(g)]);
    }
    NameJoined(parts);
    AddStretches(stretches);
  }

  static void Add(const GapGroup& part, GapGroup& to) {
    to.ns += part.ns;
    to.gaps.insert(to.gaps.end(), part.gaps.begin(), part.gaps.end());
  }

  // An operator that takes a good part of a group names it: it is what computes there.
  void NameJoined(const std::vector<GapGroup>& parts) {
    std::vector<int64_t> in_ops_ns(groups_.size(), 0);
    for (size_t g = 0; g < parts.size(); ++g) in_ops_ns[RootOf(g)] += parts[g].op_ns;
    for (size_t g = 0; g < groups_.size(); ++g) {
      if (root_[g] != g || groups_[g].ns == parts[g].ns) continue;
      std::sort(groups_[g].gaps.begin(), groups_[g].gaps.end());
      const bool by_op = 4 * in_ops_ns[g] >= groups_[g].ns;
      int64_t most_ns = -1;
      for (size_t part = 0; part < parts.size(); ++part) {
        if (RootOf(part) != g || parts[part].op.empty() == by_op || parts[part].ns <= most_ns) continue;
        most_ns = parts[part].ns;
        groups_[g].op = parts[part].op;
        groups_[g].op_ns = parts[part].op_ns;
        groups_[g].place = parts[part].place;
      }
    }
  }

  void AddStretches(const std::vector<HostStretch>& stretches) {
    std::vector<int64_t> most_ns(groups_.size(), 0);
    for (const HostStretch& stretch : stretches) {
      const std::optional<size_t> main = MainOf(stretch);
      if (!main) continue;
      const size_t root = RootOf(*main);
      GapGroup& group = groups_[root];
      group.to_host += stretch.to_host;
      group.to_device += stretch.to_device;
      group.bytes += stretch.bytes;
      for (const uint32_t node : stretch.copies) {
        group.copies.push_back(node);
        group.copies_ns += s_.timeline().host.end_ns[node] - s_.timeline().host.start_ns[node];
      }
      int64_t ns = 0;
      for (const uint32_t gap : stretch.gaps) ns += LengthOf(gap);
      if (stretch.gaps.size() > 1 && group.op.empty() && ns > most_ns[root]) {
        most_ns[root] = ns;
        const HostGap &first = s_.gaps()[stretch.gaps.front()], &last = s_.gaps()[stretch.gaps.back()];
        if (first.before != kNone && last.after != kNone)
          group.place = PlaceOf("", NameOf(first.before), NameOf(last.after));
      }
    }
  }

  const StepReplay& s_;
  std::vector<GapGroup> groups_;
  std::vector<size_t> group_of_;  // by gap
  std::vector<size_t> root_;      // by group: what it has joined; itself
};

}  // namespace

std::vector<GapGroup> GroupGaps(const StepReplay& steps) { return Grouping(steps).Take(); }

}  // namespace nl::replay
