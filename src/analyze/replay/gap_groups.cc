// SPDX-License-Identifier: Apache-2.0
#include "analyze/replay/gap_groups.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

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

}  // namespace

std::vector<GapGroup> GroupGaps(const StepReplay& steps) {
  const auto name = [&steps](uint32_t node) -> std::string_view {
    const HostTree& h = steps.timeline().host;
    return node == kNone || IsNull(h.name[node]) ? std::string_view() : steps.data().Text(h.name[node]);
  };
  // At the ends of the window a gap has one neighbour; it is the same code as the gap that has both.
  std::map<std::string_view, std::string_view> after_of, before_of;
  for (const HostGap& gap : steps.gaps()) {
    if (gap.before == kNone || gap.after == kNone) continue;
    after_of.emplace(name(gap.before), name(gap.after));
    before_of.emplace(name(gap.after), name(gap.before));
  }
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, GapGroup> groups;
  for (uint32_t i = 0; i < steps.gaps().size(); ++i) {
    const HostGap& gap = steps.gaps()[i];
    // A module is meant for the device; a range of the program's own says what the host code is for.
    const std::string_view range = name(gap.inside);
    const bool is_op = gap.op != kNone && (range.empty() || range.starts_with("nn.Module: "));
    const std::string_view inside = is_op ? name(gap.op) : range;
    std::string_view before = name(gap.before), after = name(gap.after);
    if (after.empty() && after_of.count(before) > 0) after = after_of[before];
    if (before.empty() && before_of.count(after) > 0) before = before_of[after];
    if (!inside.empty()) before = after = {};
    GapGroup& group = groups[{inside, before, after}];
    group.place = PlaceOf(inside, before, after);
    group.is_loader = HasAny(inside, {"DataLoader", "dataloader", "data_loader"});
    if (is_op) group.op = inside.substr(0, 120);
    group.ns += gap.end_ns - gap.start_ns;
    group.gaps.push_back(i);
  }
  std::vector<GapGroup> out;
  for (auto& [key, group] : groups) out.push_back(std::move(group));
  std::stable_sort(out.begin(), out.end(), [](const GapGroup& a, const GapGroup& b) { return a.ns > b.ns; });
  return out;
}

}  // namespace nl::replay
