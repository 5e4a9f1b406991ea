// SPDX-License-Identifier: Apache-2.0
#include "analyze/totals.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <numeric>
#include <unordered_map>

#include <fmt/format.h>

#include "analyze/analysis.h"
#include "analyze/program/observed.h"
#include "base/json.h"
#include "base/median.h"
#include "model/kernel_name.h"
#include "model/labels/observed_label.h"

namespace nl {

double Percentile(std::vector<int64_t>& v, double p) {
  if (v.empty()) return 0;
  const double rank = static_cast<double>(v.size() - 1) * p / 100;
  const auto low = static_cast<size_t>(rank);
  const auto at_low = static_cast<double>(AtRank(v, low));
  if (low + 1 >= v.size()) return at_low;
  const auto next =
      static_cast<double>(*std::min_element(v.begin() + static_cast<ptrdiff_t>(low) + 1, v.end()));
  return at_low + (next - at_low) * (rank - static_cast<double>(low));
}

namespace {

// Collects rows under keys and turns them into sorted stats.
struct Group {
  NameStats stats;
  std::vector<int64_t> durations;
  size_t first_row = 0;  // that it was made of
};

// `name` fills in the texts, of the first `named` (0: all): a run may have millions of names.
std::vector<NameStats> Finish(std::vector<Group>& groups, size_t named,
                              const std::function<void(const Group&, NameStats&)>& name) {
  std::vector<uint32_t> order(groups.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&groups](uint32_t i, uint32_t k) {
    const NameStats &a = groups[i].stats, &b = groups[k].stats;
    return a.device_ns != b.device_ns ? a.device_ns > b.device_ns : a.total_ns > b.total_ns;
  });
  std::vector<NameStats> out;
  out.reserve(groups.size());
  for (const uint32_t i : order) {
    Group& group = groups[i];
    if (named == 0 || out.size() < named) {
      name(group, group.stats);
      group.stats.p50_ns = Percentile(group.durations, 50);
      group.stats.p95_ns = Percentile(group.durations, 95);
    }
    out.push_back(std::move(group.stats));
    group.durations = {};
  }
  return out;
}

// Cuts rows at the edges of the part. Rows that do not reach into it have no duration left, and are marked.
template <class Columns>
std::vector<uint8_t> CutRows(const std::optional<Interval>& part, Columns& rows) {
  std::vector<uint8_t> left_out(rows.dur_ns.size());
  for (size_t i = 0; part && i < left_out.size(); ++i) {
    if (IsNull(rows.start_ns[i])) continue;
    const int64_t start_ns = rows.start_ns[i],
                  end_ns = start_ns + (IsNull(rows.dur_ns[i]) ? 0 : rows.dur_ns[i]);
    const Interval cut = CutAtEdges(*part, start_ns, end_ns);
    left_out[i] = !ReachesInto(*part, start_ns, end_ns);
    rows.start_ns[i] = cut.start_ns;
    if (!IsNull(rows.dur_ns[i])) rows.dur_ns[i] = cut.end_ns - cut.start_ns;
  }
  return left_out;
}

// Row order for a stack sweep: by thread, then start, the longer first.
std::vector<uint32_t> NestingOrder(const OpColumns& ops) {
  std::vector<uint32_t> order(ops.start_ns.size());
  std::iota(order.begin(), order.end(), 0u);
  const auto before = [&ops](uint32_t a, uint32_t b) {
    if (ops.thread_id[a] != ops.thread_id[b]) return ops.thread_id[a] < ops.thread_id[b];
    if (ops.start_ns[a] != ops.start_ns[b]) return ops.start_ns[a] < ops.start_ns[b];
    if (ops.dur_ns[a] != ops.dur_ns[b]) return ops.dur_ns[a] > ops.dur_ns[b];
    return a < b;
  };
  if (!std::is_sorted(order.begin(), order.end(), before)) std::sort(order.begin(), order.end(), before);
  return order;
}

struct OpTimes {
  std::vector<int64_t> self_ns, device_ns, device_all_ns;
  std::vector<uint8_t> outermost;  // of its name: counted once in inclusive device time
};

void Sweep(const OpColumns& ops, OpTimes& times) {
  std::vector<uint32_t> stack;
  const auto end_of = [&ops](uint32_t i) {
    return ops.start_ns[i] + (IsNull(ops.dur_ns[i]) ? 0 : ops.dur_ns[i]);
  };
  const auto pop = [&] {
    const uint32_t done = stack.back();
    stack.pop_back();
    if (!stack.empty()) times.device_all_ns[stack.back()] += times.device_all_ns[done];
  };
  for (const uint32_t i : NestingOrder(ops)) {
    while (!stack.empty() &&
           (ops.thread_id[stack.back()] != ops.thread_id[i] || end_of(stack.back()) <= ops.start_ns[i]))
      pop();
    // An op that ends inside this one does not enclose it (some writers round times so).
    while (!stack.empty() && end_of(stack.back()) < end_of(i)) pop();
    if (!stack.empty()) {
      times.self_ns[stack.back()] -= IsNull(ops.dur_ns[i]) ? 0 : ops.dur_ns[i];
      times.outermost[i] =
          std::none_of(stack.begin(), stack.end(), [&](uint32_t p) { return ops.name[p] == ops.name[i]; });
    }
    stack.push_back(i);
  }
  while (!stack.empty()) pop();
}

Status AddKernelTime(Snapshot& snapshot, const TotalsFilter& filter, OpTimes& times) {
  KernelColumns k;
  NL_TRY(snapshot.Load(k, {"dur_ns", "op_id", "device", "stream"}));
  if (filter.part) NL_TRY(snapshot.Load(k, {"start_ns"}));
  CutRows(filter.part, k);
  for (size_t i = 0; i < k.dur_ns.size(); ++i) {
    if (IsNull(k.op_id[i]) || IsNull(k.dur_ns[i])) continue;
    if ((filter.device && k.device[i] != *filter.device) || (filter.stream && k.stream[i] != *filter.stream))
      continue;
    times.device_ns[static_cast<size_t>(k.op_id[i])] += k.dur_ns[i];
  }
  times.device_all_ns = times.device_ns;
  return {};
}

// Importers keep the type of an op that is named after its node in args, key op_type, as JSON text.
Status NameByType(Snapshot& snapshot, OpColumns& ops) {
  ArgsColumns args;
  NL_TRY(snapshot.Load(args, {"owner", "owner_id", "key", "value"}));
  for (size_t i = 0; i < args.key.size(); ++i) {
    const auto row = static_cast<size_t>(args.owner_id[i]);
    if (snapshot.strings().Text(args.key[i]) != "op_type" || snapshot.strings().Text(args.owner[i]) != "op" ||
        row >= ops.name.size())
      continue;
    ops.name[row] = args.value[i];
  }
  return {};
}

std::string TypeText(std::string_view json) {
  const Result<Json> type = json.starts_with('"') ? ParseJson(json) : Result<Json>(Json());
  return type.ok() && type->is_string() ? type->get<std::string>() : std::string(json);
}

}  // namespace

namespace {

// The same of runs in which operators were observed in some steps only: with those that the timeline infers.
class InferredTotals {
 public:
  InferredTotals(const TimelineFacts& timeline, const RunData& data, const TotalsFilter& filter)
      : t_(timeline), h_(timeline.host), data_(data), filter_(filter) {}

  std::vector<NameStats> Make() {
    self_ns_.assign(h_.size(), 0);
    device_ns_.assign(h_.size(), 0);
    outermost_.assign(h_.size(), true);
    AddDeviceTime();
    AddInside();
    std::vector<Group> groups;
    std::vector<int64_t> timed;
    std::unordered_map<uint64_t, size_t> index;
    for (uint32_t i = 0; i < h_.size(); ++i) {
      if (h_.kind[i] != HostKind::kOp) continue;
      const uint64_t shape = filter_.by_shape ? static_cast<uint32_t>(data_.op.input_dims[h_.row[i]]) : 0;
      const auto [it, added] =
          index.try_emplace((uint64_t{static_cast<uint32_t>(h_.name[i])} << 32) | shape, groups.size());
      if (added) groups.emplace_back().first_row = h_.row[i], timed.push_back(0);
      Group& group = groups[it->second];
      ++group.stats.calls;
      group.stats.device_ns += device_ns_[i];
      if (outermost_[i]) group.stats.device_all_ns += device_all_ns_[i];
      if (program::IsInferred(t_, i)) continue;
      ++timed[it->second];
      group.stats.self_ns += self_ns_[i];
      group.stats.total_ns += h_.end_ns[i] - h_.start_ns[i];
      group.durations.push_back(h_.end_ns[i] - h_.start_ns[i]);
    }
    for (size_t g = 0; g < groups.size(); ++g) Extrapolate(groups[g], timed[g]);
    return Finish(groups, filter_.named, [&](const Group& group, NameStats& stats) {
      stats.name = stats.raw_name = data_.Text(data_.op.name[group.first_row]);
      if (filter_.by_shape) stats.shapes = data_.Text(data_.op.input_dims[group.first_row]);
    });
  }

 private:
  // The first calls are observed, and they are slow: a mean would make all calls as slow as they are.
  static void Extrapolate(Group& group, int64_t timed) {
    NameStats& stats = group.stats;
    if (timed == stats.calls) return;
    stats.timed_calls = timed;
    if (timed == 0) return;
    const int64_t more_ns = (stats.calls - timed) * UpperMedian(group.durations);
    const double self =
        stats.total_ns > 0 ? static_cast<double>(stats.self_ns) / static_cast<double>(stats.total_ns) : 0;
    stats.self_ns += static_cast<int64_t>(self * static_cast<double>(more_ns));
    stats.total_ns += more_ns;
  }

  void AddDeviceTime() {
    const DeviceWork& w = t_.work;
    for (size_t i = 0; i < w.size(); ++i) {
      if (w.op[i] == kNone || w.kind[i] != WorkKind::kKernel) continue;
      if ((filter_.device && data_.kernel.device[w.row[i]] != *filter_.device) ||
          (filter_.stream && data_.kernel.stream[w.row[i]] != *filter_.stream))
        continue;
      device_ns_[w.op[i]] += w.end_ns[i] - w.start_ns[i];
    }
    device_all_ns_ = device_ns_;
  }

  // Children come after their parents: from the last one up, each gives what is in it to the operator around.
  void AddInside() {
    for (uint32_t i = static_cast<uint32_t>(h_.size()); i-- > 0;) {
      if (h_.kind[i] != HostKind::kOp) continue;
      const int64_t ns = h_.end_ns[i] - h_.start_ns[i];
      self_ns_[i] += ns;
      uint32_t up = h_.parent[i];
      while (up != kNone && h_.kind[up] != HostKind::kOp) up = h_.parent[up];
      if (up == kNone) continue;
      self_ns_[up] -= ns;
      device_all_ns_[up] += device_all_ns_[i];
      for (; up != kNone && outermost_[i]; up = h_.parent[up])
        outermost_[i] = h_.kind[up] != HostKind::kOp || h_.name[up] != h_.name[i];
    }
  }

  const TimelineFacts& t_;
  const HostTree& h_;
  const RunData& data_;
  const TotalsFilter& filter_;
  std::vector<int64_t> self_ns_, device_ns_, device_all_ns_;  // by node
  std::vector<bool> outermost_;
};

Result<std::vector<NameStats>> TotalsWithInferred(Snapshot& snapshot, const TotalsFilter& filter) {
  AnalysisOptions options;
  options.part = filter.part;
  Analysis analysis(snapshot, Json::object(), std::move(options));
  NL_TRY(analysis.Load(NL_READS(Op, name, input_dims) | NL_READS(Kernel, device, stream)));
  NL_ASSIGN(const TimelineFacts* timeline, analysis.Need<TimelineFacts>());
  return InferredTotals(*timeline, analysis.data(), filter).Make();
}

}  // namespace

Result<std::vector<NameStats>> OperatorTotals(Snapshot& snapshot, const TotalsFilter& filter) {
  RangeColumns ranges;
  NL_TRY(snapshot.Load(ranges, {"category"}));
  const StringId recorder = snapshot.strings().Find(kRecorderCategory);
  if (!IsNull(recorder) &&
      std::find(ranges.category.begin(), ranges.category.end(), recorder) != ranges.category.end())
    return TotalsWithInferred(snapshot, filter);
  OpColumns ops;
  NL_TRY(snapshot.Load(ops, {"thread_id", "start_ns", "dur_ns", "name"}));
  if (filter.by_shape) NL_TRY(snapshot.Load(ops, {"input_dims"}));
  if (filter.by_type) NL_TRY(NameByType(snapshot, ops));
  const std::vector<uint8_t> left_out = CutRows(filter.part, ops);
  OpTimes times;
  const size_t rows = ops.start_ns.size();
  times.self_ns.resize(rows);
  times.device_ns.resize(rows);
  times.outermost.assign(rows, 1);
  for (size_t i = 0; i < rows; ++i) times.self_ns[i] = IsNull(ops.dur_ns[i]) ? 0 : ops.dur_ns[i];
  NL_TRY(AddKernelTime(snapshot, filter, times));
  Sweep(ops, times);
  std::vector<Group> groups;
  std::unordered_map<uint64_t, size_t> index;
  for (size_t i = 0; i < rows; ++i) {
    if (left_out[i] != 0) continue;
    const uint64_t shape = filter.by_shape ? static_cast<uint32_t>(ops.input_dims[i]) : 0;
    const auto [it, added] =
        index.try_emplace((uint64_t{static_cast<uint32_t>(ops.name[i])} << 32) | shape, groups.size());
    if (added) groups.emplace_back().first_row = i;
    Group& group = groups[it->second];
    ++group.stats.calls;
    group.stats.self_ns += times.self_ns[i];
    group.stats.device_ns += times.device_ns[i];
    if (times.outermost[i]) group.stats.device_all_ns += times.device_all_ns[i];
    if (IsNull(ops.dur_ns[i])) continue;
    group.stats.total_ns += ops.dur_ns[i];
    group.durations.push_back(ops.dur_ns[i]);
  }
  return Finish(groups, filter.named, [&](const Group& group, NameStats& stats) {
    const std::string_view name = snapshot.strings().Text(ops.name[group.first_row]);
    stats.name = stats.raw_name = filter.by_type ? TypeText(name) : std::string(name);
    if (filter.by_shape) stats.shapes = snapshot.strings().Text(ops.input_dims[group.first_row]);
  });
}

namespace {

// Finds the group of a kernel: by name, or by name and launch configuration.
class KernelGroups {
 public:
  KernelGroups(const KernelColumns& k, const StringPool& strings, bool by_shape)
      : k_(k), strings_(strings), by_shape_(by_shape) {}

  Group& Of(size_t i) {
    const size_t next = groups_.size();
    const size_t at = by_shape_ ? shaped_.try_emplace(ShapeKey(i), next).first->second
                                : named_.try_emplace(static_cast<uint32_t>(k_.name[i]), next).first->second;
    if (at == next) {
      groups_.emplace_back().first_row = i;
      groups_.back().stats.device = k_.device[i];
    }
    return groups_[at];
  }
  std::vector<NameStats> Finished(size_t named) {
    return Finish(groups_, named, [this](const Group& group, NameStats& stats) { Name(group, stats); });
  }

 private:
  std::array<int64_t, 7> ShapeKey(size_t i) const {
    return {static_cast<int64_t>(k_.name[i]),
            k_.grid_x[i],
            k_.grid_y[i],
            k_.grid_z[i],
            k_.block_x[i],
            k_.block_y[i],
            k_.block_z[i]};
  }
  void Name(const Group& group, NameStats& stats) const {
    const size_t i = group.first_row;
    stats.raw_name = strings_.Text(k_.name[i]);
    const KernelName parsed = ParseKernelName(stats.raw_name);
    stats.name = parsed.short_name;
    stats.family = KernelFamilyName(parsed.family);
    if (by_shape_ && !IsNull(k_.grid_x[i])) {
      stats.shapes = fmt::format("{}x{}x{} / {}x{}x{}", k_.grid_x[i], k_.grid_y[i], k_.grid_z[i],
                                 k_.block_x[i], k_.block_y[i], k_.block_z[i]);
    }
  }

  const KernelColumns& k_;
  const StringPool& strings_;
  const bool by_shape_;
  std::vector<Group> groups_;
  std::map<std::array<int64_t, 7>, size_t> shaped_;
  std::unordered_map<uint32_t, size_t> named_;
};

}  // namespace

Result<std::vector<NameStats>> KernelTotals(Snapshot& snapshot, const TotalsFilter& filter) {
  KernelColumns k;
  NL_TRY(snapshot.Load(k, {"dur_ns", "name", "device", "stream"}));
  if (filter.part) NL_TRY(snapshot.Load(k, {"start_ns"}));
  const std::vector<uint8_t> left_out = CutRows(filter.part, k);
  if (filter.by_shape)
    NL_TRY(snapshot.Load(k, {"grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z"}));
  KernelGroups groups(k, snapshot.strings(), filter.by_shape);
  for (size_t i = 0; i < k.dur_ns.size(); ++i) {
    if (left_out[i] != 0 || (filter.device && k.device[i] != *filter.device) ||
        (filter.stream && k.stream[i] != *filter.stream))
      continue;
    Group& group = groups.Of(i);
    if (group.stats.device && *group.stats.device != k.device[i]) group.stats.device.reset();
    ++group.stats.calls;
    if (IsNull(k.dur_ns[i])) continue;
    group.stats.total_ns += k.dur_ns[i];
    group.stats.self_ns += k.dur_ns[i];
    group.stats.device_ns += k.dur_ns[i];
    group.stats.device_all_ns += k.dur_ns[i];
    group.durations.push_back(k.dur_ns[i]);
  }
  return groups.Finished(filter.named);
}

Result<std::vector<CopyStats>> CopyTotals(Snapshot& snapshot, const std::optional<Interval>& part) {
  MemcpyColumns c;
  NL_TRY(snapshot.Load(c, {"start_ns", "dur_ns", "kind", "src_memory", "dst_memory", "bytes"}));
  std::map<std::array<StringId, 3>, CopyStats> totals;
  for (size_t i = 0; i < c.dur_ns.size(); ++i) {
    int64_t dur_ns = IsNull(c.dur_ns[i]) ? 0 : c.dur_ns[i];
    if (part) {
      if (IsNull(c.start_ns[i])) continue;
      const int64_t start_ns = std::max(c.start_ns[i], part->start_ns);
      const int64_t end_ns = std::min(c.start_ns[i] + dur_ns, part->end_ns);
      if (start_ns > end_ns || start_ns >= part->end_ns) continue;
      dur_ns = end_ns - start_ns;
    }
    CopyStats& t = totals[{c.kind[i], c.src_memory[i], c.dst_memory[i]}];
    ++t.calls;
    t.total_ns += dur_ns;
    t.bytes += IsNull(c.bytes[i]) ? 0 : c.bytes[i];
  }
  std::vector<CopyStats> out;
  for (auto& [key, stats] : totals) {
    stats.kind = snapshot.strings().Text(key[0]);
    stats.src_memory = snapshot.strings().Text(key[1]);
    stats.dst_memory = snapshot.strings().Text(key[2]);
    out.push_back(stats);
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const CopyStats& a, const CopyStats& b) { return a.total_ns > b.total_ns; });
  return out;
}

}  // namespace nl
