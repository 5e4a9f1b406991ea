// SPDX-License-Identifier: Apache-2.0
#include "analyze/waits/cold_calls.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

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
  for (uint32_t i = 0; i < host.size(); ++i) {
    if (host.kind[i] != HostKind::kApi || IsNull(host.name[i])) continue;
    const std::string_view name = strings.Text(host.name[i]);
    if (name.find("StreamBeginCapture") != std::string_view::npos) {
      out[host.thread[i]].push_back({host.start_ns[i], INT64_MAX});
    } else if (name.find("StreamEndCapture") != std::string_view::npos) {
      const auto it = out.find(host.thread[i]);
      if (it != out.end()) it->second.back().end_ns = std::min(it->second.back().end_ns, host.end_ns[i]);
    }
  }
  return out;
}

ColdCalls::ColdCalls(const StringPool& strings, const TimelineFacts& timeline) : cold_(timeline.host.size()) {
  MarkLongCalls(strings, timeline.host);
  MarkFirstLaunches(timeline);
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
  if (by_name.empty()) return;
  std::unordered_map<uint32_t, std::vector<int64_t>> times_ns;  // of every call with such a name
  for (uint32_t i = 0; i < host.size(); ++i) {
    if (host.kind[i] == HostKind::kApi && by_name.contains(static_cast<uint32_t>(host.name[i])))
      times_ns[static_cast<uint32_t>(host.name[i])].push_back(host.end_ns[i] - host.start_ns[i]);
  }
  for (const auto& [id, nodes] : by_name) {
    const std::string_view name = strings.Text(static_cast<StringId>(id));
    std::vector<int64_t>& all_ns = times_ns[id];
    const int64_t median_ns = all_ns.size() < 3 ? 0 : LowerMedian(all_ns);
    const bool load = LoadsOrCaptures(name), may = MayTakeLong(ClassifyApi(name), name);
    for (const uint32_t i : nodes) {
      const int64_t ns = host.end_ns[i] - host.start_ns[i];
      cold_[i] = load || (!may && ns >= kContextNs && ns >= kTimesMedian * median_ns);
    }
  }
}

// The launch that brings a kernel to a device the first time loads its code.
void ColdCalls::MarkFirstLaunches(const TimelineFacts& timeline) {
  const HostTree& host = timeline.host;
  const DeviceWork& work = timeline.work;
  std::vector<int64_t> times_ns;
  std::unordered_set<uint64_t> seen;
  std::vector<uint32_t> slow;
  for (uint32_t i = 0; i < work.size(); ++i) {
    if (work.launch[i] == kNone || work.kind[i] != WorkKind::kKernel) continue;
    const int64_t ns = host.end_ns[work.launch[i]] - host.start_ns[work.launch[i]];
    times_ns.push_back(ns);
    const uint64_t key = uint64_t{work.device[i]} << 32 | static_cast<uint32_t>(work.name[i]);
    if (seen.insert(key).second && ns >= kFirstLaunchNs) slow.push_back(work.launch[i]);
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
