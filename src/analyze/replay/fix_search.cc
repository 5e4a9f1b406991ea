// SPDX-License-Identifier: Apache-2.0
#include "analyze/replay/fix_search.h"

#include <algorithm>
#include <set>

#include "analyze/copies.h"
#include "analyze/program/program.h"
#include "model/api_kind.h"

namespace nl::replay {

namespace {

void SortUnique(std::vector<uint32_t>& list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

}  // namespace

CallNames::CallNames(const StepReplay& steps, const std::string& pattern)
    : host_(steps.timeline().host),
      all_(pattern.empty()),
      matches_(steps.data(), Ask{NameMatcher(pattern)}) {}

uint32_t CallNames::OutermostAround(uint32_t node) {
  if (all_) return program::CallerOf(host_, node);
  uint32_t found = kNone;
  for (uint32_t up = node; up != kNone; up = host_.parent[up]) {
    const bool call = host_.kind[up] == HostKind::kOp || host_.kind[up] == HostKind::kApi;
    if (call && Is(up)) found = up;
  }
  return found;
}

FixSearch::FixSearch(const StepReplay& steps)
    : steps_(steps), timeline_(steps.timeline()), gaps_(GroupGaps(steps)) {}

template <class Fn>
void FixSearch::ForEachNode(const Fn& fn) const {
  for (uint32_t t = 0; t < timeline_.threads.size(); ++t) {
    if (!steps_.Launches(t)) continue;
    for (uint32_t node = timeline_.threads[t].first; node < timeline_.threads[t].last; ++node) {
      if (steps_.HasNode(node)) fn(node);
    }
  }
}

FixTargets FixSearch::Waits(const std::string& name) const {
  CallNames names(steps_, name);
  ApiKinds kinds(steps_.data().strings);
  FixTargets out;
  ForEachNode([&](uint32_t node) {
    if (timeline_.host.kind[node] != HostKind::kApi) return;
    const ApiKind kind = kinds.Of(timeline_.host.name[node]);
    if (kind != ApiKind::kSync && kind != ApiKind::kBlockingCopy) return;
    if (const uint32_t caller = names.OutermostAround(node); caller != kNone) out.nodes.push_back(caller);
  });
  SortUnique(out.nodes);
  return out;
}

FixTargets FixSearch::PageableCopies(const std::string& name) const {
  CallNames names(steps_, name);
  const DeviceWork& w = timeline_.work;
  FixTargets out;
  for (const uint32_t work : steps_.works()) {
    if (w.kind[work] != WorkKind::kMemcpy || w.launch[work] == kNone ||
        !IsPageableCopy(steps_.data(), w.row[work]))
      continue;
    const uint32_t caller = names.OutermostAround(w.launch[work]);
    if (caller != kNone) out.nodes.push_back(caller);
  }
  SortUnique(out.nodes);
  return out;
}

FixTargets FixSearch::Allocations() const {
  ApiKinds kinds(steps_.data().strings);
  FixTargets out;
  ForEachNode([&](uint32_t node) {
    if (timeline_.host.kind[node] == HostKind::kApi && IsAlloc(kinds.Of(timeline_.host.name[node])))
      out.nodes.push_back(node);
  });
  return out;
}

FixTargets FixSearch::Launches() const {
  ApiKinds kinds(steps_.data().strings);
  FixTargets out;
  ForEachNode([&](uint32_t node) {
    if (timeline_.host.kind[node] == HostKind::kApi &&
        kinds.Of(timeline_.host.name[node]) == ApiKind::kLaunch)
      out.nodes.push_back(node);
  });
  return out;
}

FixTargets FixSearch::Calls(const std::string& name) const {
  CallNames names(steps_, name);
  FixTargets out;
  uint32_t inside_until = 0;
  ForEachNode([&](uint32_t node) {
    if (node < inside_until || !names.Is(node)) return;
    out.nodes.push_back(node);
    inside_until = timeline_.host.last[node];
  });
  return out;
}

FixTargets FixSearch::CallsWithWork(const std::string& name) const {
  FixTargets out = Calls(name);
  for (const uint32_t node : out.nodes) {
    if (timeline_.host.kind[node] != HostKind::kOp) continue;  // a fix takes all work of the others
    steps_.ForEachWorkOf(node, [&](uint32_t work) {
      if (timeline_.work.op[work] != node) out.works.push_back(work);
    });
  }
  return out;
}

FixTargets FixSearch::Kernels(const std::string& name) const {
  const NameMatcher matcher(name);
  const auto is = [&](std::string_view raw) {
    return matcher.Matches(raw) || matcher.Matches(ParseKernelName(raw).short_name);
  };
  program::PerName matches(steps_.data(), is);
  FixTargets out;
  for (const uint32_t work : steps_.works()) {
    if (timeline_.work.kind[work] == WorkKind::kKernel && matches.Of(timeline_.work.name[work]))
      out.works.push_back(work);
  }
  return out;
}

FixTargets FixSearch::HostCode(const std::string& part) const {
  FixTargets out;
  for (const GapGroup& group : gaps_) {
    if (group.place.find(part) == std::string::npos) continue;
    out.gaps.insert(out.gaps.end(), group.gaps.begin(), group.gaps.end());
    out.nodes.insert(out.nodes.end(), group.copies.begin(), group.copies.end());
  }
  return out;
}

std::vector<std::string> FixSearch::CallNamesOfSteps() const {
  std::set<StringId> ids;
  ForEachNode([&](uint32_t node) {
    const HostKind kind = timeline_.host.kind[node];
    if ((kind == HostKind::kOp || kind == HostKind::kApi) && !IsNull(timeline_.host.name[node]))
      ids.insert(timeline_.host.name[node]);
  });
  std::vector<std::string> out;
  for (const StringId id : ids) out.emplace_back(steps_.data().Text(id));
  return out;
}

std::vector<std::string> FixSearch::KernelNamesOfSteps() const {
  std::set<std::string> names;
  for (const uint32_t work : steps_.works()) {
    if (timeline_.work.kind[work] == WorkKind::kKernel)
      names.insert(timeline_.KernelNameOf(timeline_.work.name[work]).short_name);
  }
  return {names.begin(), names.end()};
}

}  // namespace nl::replay
