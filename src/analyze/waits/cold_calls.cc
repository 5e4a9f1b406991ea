// SPDX-License-Identifier: Apache-2.0
#include "analyze/waits/cold_calls.h"

#include <algorithm>
#include <unordered_map>

#include "analyze/program/per_name.h"
#include "base/has_any.h"
#include "base/median.h"
#include "model/api_kind.h"

namespace nl {

namespace {

// A launch takes 2 to 20 µs, other calls without a wait hardly more. Loading one code object takes
// milliseconds, a context tens of them and more.
constexpr int64_t kFirstLaunchNs = 1'000'000, kModuleNs = 100'000, kContextNs = 20'000'000;
constexpr int64_t kTimesMedian = 20;

bool LoadsOrCaptures(std::string_view name) {
  return HasAny(name, {"ModuleLoad", "LibraryLoad", "LibraryGetKernel", "ModuleGetFunction",
                       "GetFuncBySymbol", "LinkComplete", "GraphInstantiate", "PrimaryCtxRetain"});
}

// Calls that may take long in steady work: they wait for the device, or pin memory page by page.
bool MayTakeLong(ApiKind kind, std::string_view name) {
  return kind == ApiKind::kSync || kind == ApiKind::kEventRecord || IsCopy(kind) || IsLaunch(kind) ||
         HasAny(name, {"HostAlloc", "MallocHost", "HostRegister", "HostUnregister", "FreeHost"});
}

}  // namespace

std::map<ThreadId, std::vector<Interval>> GraphCaptures(const StringPool& strings, const HostTree& host) {
  std::map<ThreadId, std::vector<Interval>> out;
  program::PerName begins(strings,
                          [](std::string_view name) { return HasAny(name, {"StreamBeginCapture"}); });
  program::PerName ends(strings, [](std::string_view name) { return HasAny(name, {"StreamEndCapture"}); });
  for (uint32_t i = 0; i < host.size(); ++i) {
    if (host.kind[i] != HostKind::kApi) continue;
    if (begins.Of(host.name[i])) {
      out[host.thread[i]].push_back({host.start_ns[i], INT64_MAX});
    } else if (ends.Of(host.name[i])) {
      const auto it = out.find(host.thread[i]);
      if (it != out.end()) it->second.back().end_ns = std::min(it->second.back().end_ns, host.end_ns[i]);
    }
  }
  return out;
}

ColdCalls::ColdCalls(const StringPool& strings, const TimelineFacts& timeline) : cold_(timeline.host.size()) {
  MarkLongCalls(strings, timeline.host);
  MarkFirstLaunches(strings.size(), timeline);
  MarkCaptures(strings, timeline.host);
  MarkInside(timeline.host);
}

void ColdCalls::MarkLongCalls(const StringPool& strings, const HostTree& host) {
  std::unordered_map<uint32_t, std::vector<uint32_t>> by_name;
  for (uint32_t i = 0; i < host.size(); ++i) {
    if (host.kind[i] == HostKind::kApi && !IsNull(host.name[i]) &&
        host.end_ns[i] - host.start_ns[i] >= kModuleNs)
      by_name[static_cast<uint32_t>(host.name[i])].push_back(i);
  }
  std::unordered_map<uint32_t, std::vector<int64_t>> times_ns;  // of every call with a name that may be cold
  for (const auto& [id, nodes] : by_name) {
    const std::string_view name = strings.Text(static_cast<StringId>(id));
    if (LoadsOrCaptures(name)) {
      for (const uint32_t i : nodes) cold_[i] = true;
    } else if (!MayTakeLong(ClassifyApi(name), name)) {
      times_ns[id];
    }
  }
  if (times_ns.empty()) return;
  for (uint32_t i = 0; i < host.size(); ++i) {
    if (host.kind[i] != HostKind::kApi) continue;
    const auto of_name = times_ns.find(static_cast<uint32_t>(host.name[i]));
    if (of_name != times_ns.end()) of_name->second.push_back(host.end_ns[i] - host.start_ns[i]);
  }
  for (auto& [id, all_ns] : times_ns) {
    const int64_t median_ns = all_ns.size() < 3 ? 0 : LowerMedian(all_ns);
    for (const uint32_t i : by_name[id]) {
      const int64_t ns = host.end_ns[i] - host.start_ns[i];
      cold_[i] = ns >= kContextNs && ns >= kTimesMedian * median_ns;
    }
  }
}

// The launch that brings a kernel to a device the first time loads its code.
void ColdCalls::MarkFirstLaunches(size_t names, const TimelineFacts& timeline) {
  const HostTree& host = timeline.host;
  const DeviceWork& work = timeline.work;
  std::vector<int64_t> times_ns;
  times_ns.reserve(work.size());
  std::vector<bool> seen(timeline.devices.size() * (names + 1));  // by device and name
  std::vector<uint32_t> slow;
  for (uint32_t i = 0; i < work.size(); ++i) {
    if (work.launch[i] == kNone || work.kind[i] != WorkKind::kKernel) continue;
    const int64_t ns = host.end_ns[work.launch[i]] - host.start_ns[work.launch[i]];
    times_ns.push_back(ns);
    const size_t name = IsNull(work.name[i]) ? names : static_cast<size_t>(work.name[i]);
    const size_t key = work.device[i] * (names + 1) + name;
    if (!seen[key] && ns >= kFirstLaunchNs) slow.push_back(work.launch[i]);
    seen[key] = true;
  }
  if (slow.empty()) return;
  const int64_t least_ns = times_ns.size() < 3 ? 0 : kTimesMedian * LowerMedian(times_ns);
  for (const uint32_t launch : slow) {
    if (host.end_ns[launch] - host.start_ns[launch] >= least_ns) cold_[launch] = true;
  }
}

void ColdCalls::MarkCaptures(const StringPool& strings, const HostTree& host) {
  const auto captures = GraphCaptures(strings, host);
  if (captures.empty()) return;
  for (uint32_t i = 0; i < host.size(); ++i) {
    const auto it = captures.find(host.thread[i]);
    if (it == captures.end()) continue;
    for (const Interval& c : it->second) {
      if (c.end_ns != INT64_MAX && host.start_ns[i] >= c.start_ns && host.end_ns[i] <= c.end_ns)
        cold_[i] = true;
    }
  }
}

void ColdCalls::MarkInside(const HostTree& host) {
  for (uint32_t i = 0; i < host.size(); ++i) {
    if (host.parent[i] != kNone && cold_[host.parent[i]]) cold_[i] = true;
  }
}

}  // namespace nl
