// SPDX-License-Identifier: Apache-2.0
// One sweep per device over three merged interval lists.
#include "analyze/accounting.h"

#include <algorithm>

#include <fmt/format.h>

#include "analyze/device_work.h"
#include "analyze/run_data.h"

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

std::optional<double> TimeParts::Utilization() const {
  const int64_t recorded_ns = wall_ns() - paused_ns;
  if (recorded_ns <= 0) return std::nullopt;
  return static_cast<double>(busy_ns()) / static_cast<double>(recorded_ns);
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
  parts.by_mask[0] += to_ns - from_ns - covered;  // before the first and after the last work
  parts.paused_ns = LengthNs(Clipped(paused, {from_ns, to_ns}));
  return parts;
}

namespace {

using ClassIntervals = std::array<std::vector<Interval>, kWorkClasses>;  // each merged

// Three lists of merged intervals as segments of one mask each.
DeviceSweep SweepClasses(const ClassIntervals& classes) {
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

std::vector<Interval> UnionOfClasses(const ClassIntervals& classes) {
  std::vector<Interval> all;
  for (const std::vector<Interval>& each : classes) all.insert(all.end(), each.begin(), each.end());
  MergeIntervals(all);
  return all;
}

// What BuildDeviceWork and FindBounds read, and nothing else: a summary of millions of events has to
// answer at once.
Status LoadDeviceColumns(Snapshot& snapshot, RunColumns& to) {
  NL_TRY(to.Load(snapshot, NL_READS(Process, rank)));
  const auto& ranks = to.process.rank;
  const bool ranked = std::any_of(ranks.begin(), ranks.end(), [](int32_t rank) { return !IsNull(rank); });
  return to.Load(snapshot, kDeviceWorkReads | kBoundsReads | (ranked ? kWorkRankReads : Reads()));
}

}  // namespace

Result<DeviceAccounts> AccountDevices(const TimelineFacts& t, const std::vector<Interval>& pauses) {
  DeviceAccounts out;
  std::vector<ClassIntervals> classes(t.devices.size());
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
  for (const ClassIntervals& device : classes) {
    out.sweeps.push_back(SweepClasses(device));
    if (!pauses.empty()) out.sweeps.back().paused = Outside(pauses, UnionOfClasses(device));
    out.devices.push_back(out.sweeps.back().Window(t.first_start_ns, t.last_end_ns));
    const int64_t sum_ns = out.devices.back().wall_ns();
    if (sum_ns != t.wall_ns()) {
      return Internal(
          fmt::format("the parts of a device sum to {} ns, but the wall time is {} ns", sum_ns, t.wall_ns()));
    }
  }
  return out;
}

Result<RunTime> AccountRun(Snapshot& snapshot, const std::vector<Interval>& pauses) {
  constexpr const char* kReader = "AccountRun";
  RunColumns columns;
  NL_TRY(LoadDeviceColumns(snapshot, columns));
  RunData data(columns, columns.loaded, kReader);
  TimelineFacts timeline;
  BuildDeviceWork(data, timeline);
  FindBounds(data, timeline);
  if (timeline.devices.empty()) {  // only then do CPU samples matter
    NL_TRY(columns.Load(snapshot, kSampleBoundsReads));
    data.Show(columns, columns.loaded, kReader);
    FindBounds(data, timeline);
  }
  RunTime out;
  NL_ASSIGN(static_cast<DeviceAccounts&>(out), AccountDevices(timeline, pauses));
  out.wall_ns = timeline.wall_ns();
  out.keys = std::move(timeline.devices);
  return out;
}

}  // namespace nl
