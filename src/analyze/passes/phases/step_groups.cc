// SPDX-License-Identifier: Apache-2.0
#include "analyze/passes/phases/step_groups.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "base/flat_map.h"

namespace nl::passes::phases {

namespace {

constexpr size_t kMostGroups = 16;  // what is like none of them joins the last
constexpr size_t kManyGroups = 5;   // of labelled steps: their work varies, there are no kinds of it

bool IsAlike(const StepWork& a, const StepWork& b) {
  const uint64_t more = std::max(a.items, b.items), less = std::min(a.items, b.items);
  if (50 * (more - less) > more) return false;
  uint64_t differences = 0;
  for (size_t i = 0; i < StepWork::kBuckets; ++i)
    differences += static_cast<uint64_t>(std::abs(a.buckets[i] - b.buckets[i]));
  return 5 * differences <= 2 * more;  // a replaced item is missing once and added once
}

// Whether nearly all work has one: where recording of operators began late, equal steps would differ.
bool HasOperators(const TimelineFacts& t, const MainLane& lane) {
  size_t all = 0, with = 0;
  for (size_t i = 0; i < t.work.size(); ++i) {
    all += t.work.device[i] == lane.device;
    with += t.work.device[i] == lane.device && t.work.op[i] != kNone;
  }
  return 10 * with >= 9 * all;
}

// Steps with equal hashes.
struct StepKind {
  uint32_t first;  // step
  int64_t ns = 0;
  uint32_t group = 0;
};

struct StepGroup {
  uint32_t leader;  // step
  int64_t ns = 0;
};

// Kinds with the most time first, each to the first group that it is like.
std::vector<StepGroup> MakeGroups(const std::vector<StepWork>& work, std::vector<StepKind>& kinds) {
  std::vector<uint32_t> order(kinds.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return kinds[a].ns > kinds[b].ns; });
  std::vector<StepGroup> groups;
  for (const uint32_t k : order) {
    const auto like = std::find_if(groups.begin(), groups.end(), [&](const StepGroup& group) {
      return IsAlike(work[group.leader], work[kinds[k].first]);
    });
    auto at = static_cast<size_t>(like - groups.begin());
    if (at == groups.size() && at < kMostGroups) groups.push_back({kinds[k].first});
    at = std::min(at, groups.size() - 1);
    kinds[k].group = static_cast<uint32_t>(at);
    groups[at].ns += kinds[k].ns;
  }
  return groups;
}

}  // namespace

uint32_t StepLookup::At(int64_t time_ns) {
  if (Holds(last_, time_ns)) return static_cast<uint32_t>(last_);
  if (Holds(last_ + 1, time_ns)) return static_cast<uint32_t>(++last_);
  const auto after = std::upper_bound(steps_.begin(), steps_.end(), time_ns,
                                      [](int64_t ns, const auto& step) { return ns < step.start_ns; });
  if (after == steps_.begin()) return kNone;
  const auto at = static_cast<size_t>(after - steps_.begin()) - 1;
  if (!Holds(at, time_ns)) return kNone;
  last_ = at;
  return static_cast<uint32_t>(at);
}

int64_t LaunchTimeNs(const TimelineFacts& t, const MainLane& lane, uint32_t work) {
  if (lane.thread == kNone) return t.work.start_ns[work];
  const uint32_t launch = t.work.launch[work];
  return launch == kNone ? NullOf<int64_t>::value : t.host.start_ns[launch];
}

std::vector<StepWork> WorkOfSteps(const TimelineFacts& t, const MainLane& lane,
                                  const std::vector<PhasesFacts::Step>& steps) {
  std::vector<StepWork> out(steps.size());
  StepLookup lookup(steps);
  const bool by_op = HasOperators(t, lane);
  for (uint32_t i = 0; i < t.work.size(); ++i) {
    if (t.work.device[i] != lane.device) continue;
    const int64_t at_ns = LaunchTimeNs(t, lane, i);
    const uint32_t step = IsNull(at_ns) ? kNone : lookup.At(at_ns);
    if (step == kNone) continue;
    StepWork& work = out[step];
    work.start_ns = std::min(work.start_ns, t.work.start_ns[i]);
    work.end_ns = std::max(work.end_ns, t.work.end_ns[i]);
    // By operator where they are known: the library chooses another kernel for another length.
    const uint32_t op = by_op ? t.work.op[i] : kNone;
    if (op != kNone && op == work.last_op) continue;
    work.last_op = op;
    const uint64_t hash =
        MixedPair(op != kNone, static_cast<uint32_t>(op != kNone ? t.host.name[op] : t.work.name[i]));
    work.names += hash;
    ++work.items;
    uint16_t& bucket = work.buckets[hash % StepWork::kBuckets];
    bucket += bucket != UINT16_MAX;
  }
  return out;
}

uint32_t GroupSteps(const std::vector<StepWork>& work, bool labelled, std::vector<PhasesFacts::Step>& steps) {
  std::vector<StepKind> kinds;
  std::vector<uint32_t> kind_of(steps.size());
  FlatMap by_names;
  int64_t all_ns = 0;
  for (uint32_t i = 0; i < steps.size(); ++i) {
    const auto next = static_cast<uint32_t>(kinds.size());
    kind_of[i] = by_names.FindOrPut(MixedBits(work[i].names), next);
    if (kind_of[i] == next) kinds.push_back({i});
    kinds[kind_of[i]].ns += steps[i].end_ns - steps[i].start_ns;
    all_ns += steps[i].end_ns - steps[i].start_ns;
  }
  const std::vector<StepGroup> groups = MakeGroups(work, kinds);
  std::vector<uint32_t> order(groups.size()), rank(groups.size(), 0);
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return groups[a].ns > groups[b].ns; });
  const bool vary = labelled && groups.size() >= kManyGroups && groups[order[0]].ns < all_ns / 2;
  if (!vary) {
    for (uint32_t i = 0; i < order.size(); ++i) rank[order[i]] = i;
  }
  for (uint32_t i = 0; i < steps.size(); ++i) steps[i].group = rank[kinds[kind_of[i]].group];
  return vary ? 1 : static_cast<uint32_t>(groups.size());
}

}  // namespace nl::passes::phases
