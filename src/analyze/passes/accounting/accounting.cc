// SPDX-License-Identifier: Apache-2.0
// One sweep per device over three merged interval lists; one walk over the host tree.

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "analyze/facts/accounting.h"
#include "analyze/pass.h"
#include "base/intervals.h"
#include "base/units.h"

namespace nl {

int64_t TimeParts::wall_ns() const {
  int64_t sum = 0;
  for (const int64_t ns : by_mask) sum += ns;
  return sum;
}

int64_t TimeParts::Of(WorkClass work) const {
  int64_t sum = 0;
  for (size_t mask = 0; mask < by_mask.size(); ++mask) {
    if (mask >> static_cast<size_t>(work) & 1) sum += by_mask[mask];
  }
  return sum;
}

int64_t TimeParts::Both(WorkClass a, WorkClass b) const {
  const size_t both = size_t{1} << static_cast<size_t>(a) | size_t{1} << static_cast<size_t>(b);
  return by_mask[both] + (both == 7 ? 0 : by_mask[7]);
}

TimeParts DeviceSweep::Window(int64_t from_ns, int64_t to_ns) const {
  TimeParts parts;
  if (to_ns <= from_ns) return parts;
  int64_t covered = 0;
  if (!start_ns.empty()) {
    size_t i =
        static_cast<size_t>(std::upper_bound(start_ns.begin(), start_ns.end(), from_ns) - start_ns.begin());
    for (i = i == 0 ? 0 : i - 1; i + 1 < start_ns.size() && start_ns[i] < to_ns; ++i) {
      const int64_t ns = std::min(to_ns, start_ns[i + 1]) - std::max(from_ns, start_ns[i]);
      if (ns <= 0) continue;
      parts.by_mask[mask[i]] += ns;
      covered += ns;
    }
  }
  parts.by_mask[0] += to_ns - from_ns - covered;  // before the first and behind the last work
  parts.paused_ns = LengthNs(Clipped(paused, {from_ns, to_ns}));
  return parts;
}

namespace passes::accounting {

namespace {

// Three lists of merged intervals as segments of one mask each.
DeviceSweep Sweep(const std::array<std::vector<Interval>, kWorkClasses>& classes) {
  DeviceSweep out;
  std::array<size_t, kWorkClasses> at{};
  uint8_t mask = 0;
  for (;;) {
    int64_t next = INT64_MAX;
    for (size_t c = 0; c < kWorkClasses; ++c) {
      if (at[c] == classes[c].size()) continue;
      const Interval& i = classes[c][at[c]];
      next = std::min(next, mask >> c & 1 ? i.end_ns : i.start_ns);
    }
    if (next == INT64_MAX) break;
    for (size_t c = 0; c < kWorkClasses; ++c) {
      if (at[c] < classes[c].size() && (mask >> c & 1) && classes[c][at[c]].end_ns == next) {
        mask = static_cast<uint8_t>(mask & ~(1u << c));
        ++at[c];
      }
      if (at[c] < classes[c].size() && !(mask >> c & 1) && classes[c][at[c]].start_ns == next)
        mask = static_cast<uint8_t>(mask | 1u << c);
    }
    out.start_ns.push_back(next);
    out.mask.push_back(mask);
  }
  return out;
}

std::vector<Interval> Union(const std::array<std::vector<Interval>, kWorkClasses>& classes) {
  std::vector<Interval> all;
  for (const std::vector<Interval>& each : classes) all.insert(all.end(), each.begin(), each.end());
  MergeIntervals(all);
  return all;
}

void AccountDevices(const TimelineFacts& t, const std::vector<Interval>& pauses, AccountingFacts& out) {
  std::vector<std::array<std::vector<Interval>, kWorkClasses>> classes(t.devices.size());
  out.items.assign(t.devices.size(), 0);
  for (size_t i = 0; i < t.work.size(); ++i) {
    ++out.items[t.work.device[i]];
    if (t.work.end_ns[i] == t.work.start_ns[i]) continue;
    std::vector<Interval>& list = classes[t.work.device[i]][static_cast<size_t>(t.work.work[i])];
    // Sorted by start: an item extends the last interval or opens a new one.
    if (!list.empty() && t.work.start_ns[i] <= list.back().end_ns)
      list.back().end_ns = std::max(list.back().end_ns, t.work.end_ns[i]);
    else
      list.push_back({t.work.start_ns[i], t.work.end_ns[i]});
  }
  for (const auto& device : classes) {
    out.sweeps.push_back(Sweep(device));
    if (!pauses.empty()) out.sweeps.back().paused = Outside(pauses, Union(device));
    out.devices.push_back(out.sweeps.back().Window(t.first_start_ns, t.last_end_ns));
  }
}

void AccountSteps(const RunData& data, AccountingFacts& out) {
  for (size_t i = 0; i < data.step.start_ns.size(); ++i) {
    if (IsNull(data.step.start_ns[i]) || IsNull(data.step.dur_ns[i])) continue;
    AccountingFacts::Step step{data.step.name[i],
                               data.step.number[i],
                               data.step.start_ns[i],
                               data.step.start_ns[i] + data.step.dur_ns[i],
                               {}};
    for (const DeviceSweep& sweep : out.sweeps)
      step.devices.push_back(sweep.Window(step.start_ns, step.end_ns));
    out.steps.push_back(std::move(step));
  }
}

void AccountHost(const RunData& data, const TimelineFacts& t, AccountingFacts& out) {
  const HostTree& h = t.host;
  ApiKinds kinds(data);
  std::vector<int64_t> self(h.size());
  for (size_t i = 0; i < h.size(); ++i) {
    self[i] += h.end_ns[i] - h.start_ns[i];
    if (h.parent[i] != kNone) self[h.parent[i]] -= h.end_ns[i] - h.start_ns[i];
  }
  std::unordered_map<int32_t, int64_t> launches;
  for (const uint32_t launch : t.work.launch) {
    if (launch != kNone) ++launches[static_cast<int32_t>(h.thread[launch])];
  }
  for (const TimelineFacts::HostThread& thread : t.threads) {
    HostTime time;
    time.thread = thread.thread;
    int64_t recorded_to = INT64_MIN, op_to = INT64_MIN;
    for (uint32_t i = thread.first; i < thread.last; ++i) {
      const int64_t own = std::max<int64_t>(self[i], 0);
      time.recorded_ns += std::max<int64_t>(0, h.end_ns[i] - std::max(h.start_ns[i], recorded_to));
      recorded_to = std::max(recorded_to, h.end_ns[i]);
      switch (h.kind[i]) {
        case HostKind::kRange: time.range_self_ns += own; break;
        case HostKind::kPython: time.python_self_ns += own; break;
        case HostKind::kOp:
          time.op_self_ns += own;
          time.op_total_ns += std::max<int64_t>(0, h.end_ns[i] - std::max(h.start_ns[i], op_to));
          op_to = std::max(op_to, h.end_ns[i]);
          break;
        case HostKind::kApi: {
          const auto kind = static_cast<size_t>(kinds.Of(h.name[i]));
          time.api_ns[kind] += own;
          ++time.api_calls[kind];
          break;
        }
      }
    }
    if (const auto it = launches.find(static_cast<int32_t>(thread.thread)); it != launches.end())
      time.launches = it->second;
    out.threads.push_back(time);
  }
  std::stable_sort(out.threads.begin(), out.threads.end(),
                   [](const HostTime& a, const HostTime& b) { return a.launches > b.launches; });
}

class AccountingPass final : public Pass {
 public:
  PassInfo Info() const override {
    return {
        AccountingFacts::kName, "Where the time of each device and host thread went", {TimelineFacts::kName}};
  }
  Status Run(const RunData& data, const AnalysisOptions&, FactBoard& facts) const override {
    const auto& t = facts.Get<TimelineFacts>();
    AccountingFacts out;
    out.wall_ns = t.wall_ns();
    AccountDevices(t, data.Pauses(), out);
    for (const TimeParts& parts : out.devices) {
      if (parts.wall_ns() != out.wall_ns) {
        return Internal(fmt::format("the parts of a device sum to {} ns, the wall is {} ns", parts.wall_ns(),
                                    out.wall_ns));
      }
    }
    AccountSteps(data, out);
    AccountHost(data, t, out);
    facts.Put(std::move(out));
    return {};
  }
  Json FactsJson(const RunData& data, const FactBoard& facts) const override {
    return ToJson(facts.Get<AccountingFacts>(), facts.Get<TimelineFacts>(), data);
  }
};

}  // namespace

const Pass& Describe() {
  static const AccountingPass pass;
  return pass;
}

}  // namespace passes::accounting

namespace {

Json PartsJson(const TimeParts& p) {
  const int64_t wall = p.wall_ns(), recorded = wall - p.paused_ns;
  const auto share = [](int64_t part, int64_t whole) {
    return whole > 0 ? Json(static_cast<double>(part) / static_cast<double>(whole)) : Json();
  };
  constexpr const char* names[8] = {
      "idle",        "compute only",       "communication only",       "compute and communication",
      "memory only", "compute and memory", "communication and memory", "all three"};
  Json parts = Json::array();
  for (const size_t mask : {1u, 2u, 4u, 3u, 5u, 6u, 7u, 0u}) {
    if (p.by_mask[mask] == 0 && mask != 0) continue;
    const int64_t ns = mask == 0 ? p.idle_ns() : p.by_mask[mask];
    parts.push_back({{"what", names[mask]}, {"ms", Ms(ns)}, {"share", share(ns, wall)}});
  }
  if (p.paused_ns > 0)
    parts.push_back({{"what", "not recorded"}, {"ms", Ms(p.paused_ns)}, {"share", share(p.paused_ns, wall)}});
  return {{"wall_ms", Ms(wall)},
          {"busy_ms", Ms(p.busy_ns())},
          {"idle_ms", Ms(p.idle_ns())},
          {"paused_ms", Ms(p.paused_ns)},
          {"compute_ms", Ms(p.Of(WorkClass::kCompute))},
          {"communication_ms", Ms(p.Of(WorkClass::kCommunication))},
          {"memory_ms", Ms(p.Of(WorkClass::kMemory))},
          {"overlap_ms", Ms(p.overlap_ns())},
          {"compute_communication_ms", Ms(p.Both(WorkClass::kCompute, WorkClass::kCommunication))},
          {"compute_memory_ms", Ms(p.Both(WorkClass::kCompute, WorkClass::kMemory))},
          {"communication_memory_ms", Ms(p.Both(WorkClass::kCommunication, WorkClass::kMemory))},
          {"utilization", share(p.busy_ns(), recorded)},
          {"parts", parts}};
}

Json NumberOrNull(int32_t v) { return IsNull(v) ? Json() : Json(v); }

}  // namespace

Json ToJson(const AccountingFacts& facts, const TimelineFacts& timeline, const RunData& data) {
  Json out{{"wall_ms", Ms(facts.wall_ns)},
           {"devices", Json::array()},
           {"steps", Json::array()},
           {"threads", Json::array()}};
  for (size_t i = 0; i < facts.devices.size(); ++i) {
    Json device = PartsJson(facts.devices[i]);
    device["index"] = NumberOrNull(timeline.devices[i].device);
    device["rank"] = NumberOrNull(timeline.devices[i].rank);
    device["name"] = Json();
    for (size_t d = 0; d < data.device.device.size(); ++d) {
      if (data.device.device[d] == timeline.devices[i].device && !IsNull(data.device.name[d]))
        device["name"] = data.Text(data.device.name[d]);
    }
    device["events"] = facts.items[i];
    out["devices"].push_back(std::move(device));
  }
  for (const AccountingFacts::Step& step : facts.steps) {
    Json devices = Json::array();
    for (const TimeParts& parts : step.devices) devices.push_back(PartsJson(parts));
    out["steps"].push_back({{"name", data.Text(step.name)},
                            {"number", IsNull(step.number) ? Json() : Json(step.number)},
                            {"wall_ms", Ms(step.end_ns - step.start_ns)},
                            {"devices", devices}});
  }
  for (const HostTime& time : facts.threads) {
    Json api = Json::object();
    for (size_t k = 0; k < kApiKinds; ++k) {
      if (time.api_calls[k] == 0) continue;
      std::string name(ApiGroup(static_cast<ApiKind>(k)));
      std::replace(name.begin(), name.end(), ' ', '_');
      Json& group = api[name];
      if (group.is_null()) group = {{"ms", 0.0}, {"calls", 0}};
      group["ms"] = group["ms"].get<double>() + Ms(time.api_ns[k]);
      group["calls"] = group["calls"].get<int64_t>() + time.api_calls[k];
    }
    const auto row = static_cast<size_t>(time.thread);
    const bool known = !IsNull(time.thread) && row < data.thread.name.size();
    out["threads"].push_back(
        {{"name", known && !IsNull(data.thread.name[row]) ? Json(data.Text(data.thread.name[row])) : Json()},
         {"tid", known && row < data.thread.tid.size() && !IsNull(data.thread.tid[row])
                     ? Json(data.thread.tid[row])
                     : Json()},
         {"recorded_ms", Ms(time.recorded_ns)},
         {"op_total_ms", Ms(time.op_total_ns)},
         {"op_self_ms", Ms(time.op_self_ns)},
         {"python_self_ms", Ms(time.python_self_ns)},
         {"range_self_ms", Ms(time.range_self_ns)},
         {"launches", time.launches},
         {"api", api}});
  }
  return out;
}

}  // namespace nl
