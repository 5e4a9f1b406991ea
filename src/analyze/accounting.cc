// SPDX-License-Identifier: Apache-2.0
#include "analyze/accounting.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include "model/kernel_name.h"

namespace nl {

DeviceTime AccountDevice(std::vector<WorkInterval> work, int64_t wall_ns,
                         const std::vector<Interval>& pauses) {
  DeviceTime out;
  out.wall_ns = wall_ns;
  out.events = static_cast<int64_t>(work.size());
  std::vector<Interval> per_class[kWorkClasses], all;
  all.reserve(work.size());
  for (const WorkInterval& w : work) {
    per_class[static_cast<size_t>(w.work)].push_back({w.start_ns, w.end_ns});
    all.push_back({w.start_ns, w.end_ns});
  }
  std::vector<std::pair<int64_t, int>> edges;  // of the merged classes: few compared with the events
  for (std::vector<Interval>& intervals : per_class) {
    MergeIntervals(intervals);
    for (const Interval& i : intervals) {
      edges.emplace_back(i.start_ns, 1);
      edges.emplace_back(i.end_ns, -1);
    }
  }
  out.compute_ns = LengthNs(per_class[0]);
  out.communication_ns = LengthNs(per_class[1]);
  out.memory_ns = LengthNs(per_class[2]);
  MergeIntervals(all);
  out.busy_ns = LengthNs(all);
  out.paused_ns = LengthNs(Outside(pauses, all));
  std::sort(edges.begin(), edges.end());
  int depth = 0;
  int64_t since = 0;
  for (const auto& [at, step] : edges) {
    if (depth >= 2) out.overlap_ns += at - since;
    depth += step;
    since = at;
  }
  return out;
}

namespace {

// Of a run without spans: from the first CPU sample to the end of the last; without times, what those of the
// busiest thread add up to.
Status FindSampleBounds(Snapshot& snapshot, RunTime& time) {
  NL_ASSIGN(const SqlTable bounds,
            snapshot.sql().QueryTable(
                "SELECT min(start_ns), max(start_ns + coalesce(weight_ns, 0)), (SELECT max(ns) FROM (SELECT "
                "CAST(least(sum(weight_ns), 9223372036854775807) AS BIGINT) AS ns FROM cpu_sample WHERE "
                "start_ns IS NULL GROUP BY thread_id)) FROM cpu_sample WHERE start_ns IS NOT NULL",
                {}));
  if (bounds.rows.empty()) return {};
  const auto& row = bounds.rows[0];
  if (!row[0].is_null()) {
    time.first_start_ns = row[0].get<int64_t>();
    time.last_end_ns = row[1].get<int64_t>();
  } else if (!row[2].is_null()) {
    time.last_end_ns = row[2].get<int64_t>();
  }
  return {};
}

// First start and last end over every table of spans, in one pass of the engine.
Status FindBounds(Snapshot& snapshot, RunTime& time) {
  std::string sql;
  for (const char* table : {"kernel", "memcpy", "memset", "sync", "api_call", "op", "python_call", "range"}) {
    sql += fmt::format(
        "{}SELECT min(start_ns) AS low, max(start_ns + dur_ns) AS high FROM \"{}\" WHERE dur_ns IS NOT NULL",
        sql.empty() ? "" : " UNION ALL ", table);
  }
  NL_ASSIGN(const SqlTable bounds,
            snapshot.sql().QueryTable("SELECT min(low), max(high) FROM (" + sql + ")", {}));
  if (bounds.rows.empty() || bounds.rows[0][0].is_null()) return FindSampleBounds(snapshot, time);
  time.first_start_ns = bounds.rows[0][0].get<int64_t>();
  time.last_end_ns = bounds.rows[0][1].get<int64_t>();
  return {};
}

using WorkByDevice = std::map<DeviceKey, std::vector<WorkInterval>>;

// Rank of each lane, only where a run has several: their device numbers may be the same.
Result<std::vector<int32_t>> LoadRanks(Snapshot& snapshot) {
  ProcessColumns process;
  NL_TRY(snapshot.Load(process, {"rank"}));
  std::vector<int32_t> distinct = process.rank;
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  std::vector<int32_t> ranks;
  if (distinct.size() < 2) return ranks;
  ThreadColumns thread;
  NL_TRY(snapshot.Load(thread, {"process_id"}));
  for (const ProcessId id : thread.process_id) {
    const auto row = static_cast<size_t>(id);
    ranks.push_back(IsNull(id) || row >= process.rank.size() ? NullOf<int32_t>::value : process.rank[row]);
  }
  return ranks;
}

template <class Columns>
Status LoadWork(Snapshot& snapshot, const std::vector<int32_t>& ranks, WorkByDevice& work) {
  constexpr bool kKernels = std::is_same_v<Columns, KernelColumns>;
  Columns t;
  if constexpr (kKernels) {
    NL_TRY(snapshot.Load(t, {"device", "start_ns", "dur_ns", "name"}));
  } else {
    NL_TRY(snapshot.Load(t, {"device", "start_ns", "dur_ns"}));
  }
  Columns lanes;
  if (!ranks.empty()) NL_TRY(snapshot.Load(lanes, {"thread_id"}));
  std::unordered_map<uint32_t, WorkClass> classes;
  for (size_t i = 0; i < t.start_ns.size(); ++i) {
    if (IsNull(t.dur_ns[i])) continue;
    WorkClass kind = WorkClass::kMemory;
    if constexpr (kKernels) {
      const auto [it, added] = classes.try_emplace(static_cast<uint32_t>(t.name[i]), WorkClass::kCompute);
      if (added && ParseKernelName(snapshot.strings().Text(t.name[i])).family == KernelFamily::kCommunication)
        it->second = WorkClass::kCommunication;
      kind = it->second;
    }
    const size_t lane =
        ranks.empty() || IsNull(lanes.thread_id[i]) ? ranks.size() : static_cast<size_t>(lanes.thread_id[i]);
    const DeviceKey key{lane < ranks.size() ? ranks[lane] : NullOf<int32_t>::value, t.device[i]};
    work[key].push_back({t.start_ns[i], t.start_ns[i] + t.dur_ns[i], kind});
  }
  return {};
}

}  // namespace

Result<RunTime> AccountRun(Snapshot& snapshot, const std::vector<Interval>& pauses) {
  RunTime time;
  NL_TRY(FindBounds(snapshot, time));
  const std::vector<Interval> paused = Clipped(pauses, {time.first_start_ns, time.last_end_ns});
  NL_ASSIGN(const std::vector<int32_t> ranks, LoadRanks(snapshot));
  WorkByDevice work;
  NL_TRY(LoadWork<KernelColumns>(snapshot, ranks, work));
  NL_TRY(LoadWork<MemcpyColumns>(snapshot, ranks, work));
  NL_TRY(LoadWork<MemsetColumns>(snapshot, ranks, work));
  for (auto& [key, intervals] : work) {
    time.devices.push_back(AccountDevice(std::move(intervals), time.wall_ns(), paused));
    time.devices.back().device = key.device;
    time.devices.back().rank = key.rank;
  }
  return time;
}

}  // namespace nl
