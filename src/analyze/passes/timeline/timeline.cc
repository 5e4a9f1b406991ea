// SPDX-License-Identifier: Apache-2.0
// Puts the events of a run in order: device work by time, host spans nested by time.

#include <algorithm>
#include <future>

#include "analyze/async_policy.h"
#include "analyze/device_work.h"
#include "analyze/facts/timeline.h"
#include "analyze/pass.h"
#include "analyze/passes/timeline/complete_ops.h"
#include "analyze/passes/timeline/crop.h"
#include "analyze/program/lanes.h"

namespace nl::passes::timeline {

namespace {

class Builder {
 public:
  Builder(const RunData& data, TimelineFacts& out) : data_(data), out_(out) {}

  void Build() {
    on_device_.assign(data_.thread.process_id.size(), false);
    for (const auto* lanes : {&data_.kernel.thread_id, &data_.memcpy.thread_id, &data_.memset.thread_id}) {
      for (const ThreadId lane : *lanes) MarkDeviceLane(lane);
    }
    std::future<void> device = std::async(kAsyncOrDeferred, [this] { BuildDeviceWork(data_, out_); });
    BuildHost();
    device.get();
    out_.untimed += untimed_;
    LinkWork();
    FindBounds(data_, out_);
  }

 private:
  void MarkDeviceLane(ThreadId lane) {
    if (!IsNull(lane) && static_cast<size_t>(lane) < on_device_.size())
      on_device_[static_cast<size_t>(lane)] = true;
  }
  bool OnDevice(ThreadId lane) const {
    return !IsNull(lane) && static_cast<size_t>(lane) < on_device_.size() &&
           on_device_[static_cast<size_t>(lane)];
  }

  // ---- host ----
  // Lanes that grow to millions of spans would be copied again and again.
  void MakeRoom() {
    std::vector<size_t> counts;
    for (const auto* threads : {&data_.range.thread_id, &data_.python_call.thread_id, &data_.op.thread_id,
                                &data_.api_call.thread_id}) {
      for (const ThreadId thread : *threads) {
        const size_t lane = program::LaneOf(thread);
        if (lane >= counts.size()) counts.resize(lane + 1);
        ++counts[lane];
      }
    }
    spans_.resize(counts.size());
    for (size_t lane = 0; lane < counts.size(); ++lane) spans_[lane].reserve(counts[lane]);
  }

  template <class Columns, class Keep>
  void Collect(const Columns& t, HostKind kind, const Keep& keep) {
    for (size_t i = 0; i < t.start_ns.size(); ++i) {
      if (IsNull(t.start_ns[i]) || IsNull(t.dur_ns[i])) {
        ++untimed_;
        continue;
      }
      if (!keep(i)) continue;
      spans_[program::LaneOf(t.thread_id[i])].push_back(
          {t.start_ns[i], t.start_ns[i] + std::max<int64_t>(t.dur_ns[i], 0), static_cast<uint32_t>(i), kind});
    }
    // Each table is nearly in order within a lane: sort what is not, then merge it with the tables before.
    for (size_t lane = 0; lane < spans_.size(); ++lane) {
      auto& v = spans_[lane];
      const auto middle = v.begin() + static_cast<ptrdiff_t>(merged_[lane]);
      if (!std::is_sorted(middle, v.end(), Before)) std::sort(middle, v.end(), Before);
      std::inplace_merge(v.begin(), middle, v.end(), Before);
      merged_[lane] = v.size();
    }
  }

  void BuildHost() {
    const auto all = [](size_t) { return true; };
    const std::string_view span = "span";
    MakeRoom();
    merged_.assign(spans_.size(), 0);
    Collect(data_.range, HostKind::kRange, [&](size_t i) {
      if (OnDevice(data_.range.thread_id[i]) ||
          data_.Text(data_.range.category[i]) == "gpu_user_annotation") {
        out_.device_ranges.push_back(static_cast<uint32_t>(i));
        return false;
      }
      return data_.range.kind.empty() || data_.Text(data_.range.kind[i]) == span;
    });
    Collect(data_.python_call, HostKind::kPython, all);
    Collect(data_.op, HostKind::kOp, all);
    Collect(data_.api_call, HostKind::kApi, all);
    CompleteOps(data_, spans_);
    size_t total = 0;
    for (const auto& lane : spans_) total += lane.size();
    Reserve(total);
    out_.node_of_range.assign(data_.range.start_ns.size(), kNone);
    out_.node_of_python.assign(data_.python_call.start_ns.size(), kNone);
    out_.node_of_op.assign(data_.op.start_ns.size(), kNone);
    out_.node_of_api.assign(data_.api_call.start_ns.size(), kNone);
    for (size_t lane = 0; lane < spans_.size(); ++lane) {
      if (!spans_[lane].empty())
        Nest(spans_[lane], lane == 0 ? ThreadId::kNull : static_cast<ThreadId>(lane - 1));
      spans_[lane] = {};
    }
  }

  void Reserve(size_t total) {
    HostTree& h = out_.host;
    h.start_ns.reserve(total);
    h.end_ns.reserve(total);
    h.kind.reserve(total);
    h.row.reserve(total);
    h.parent.reserve(total);
    h.last.reserve(total);
    h.thread.reserve(total);
    h.name.reserve(total);
  }

  // One thread's spans in order: the stack holds what is open. A span that sticks out of the one it began in
  // (async work drawn on a thread) becomes its neighbour, not its child.
  void Nest(const std::vector<HostSpan>& spans, ThreadId thread) {
    HostTree& h = out_.host;
    const auto first = static_cast<uint32_t>(h.size());
    std::vector<uint32_t> open;
    for (const HostSpan& s : spans) {
      const auto node = static_cast<uint32_t>(h.size());
      while (!open.empty()) {
        const uint32_t top = open.back();
        const bool encloses =
            h.end_ns[top] >= s.end_ns && (h.end_ns[top] > s.start_ns || h.start_ns[top] == s.start_ns);
        if (encloses) break;
        h.last[top] = node;
        open.pop_back();
      }
      h.start_ns.push_back(s.start_ns);
      h.end_ns.push_back(s.end_ns);
      h.kind.push_back(s.kind);
      h.row.push_back(s.row);
      h.parent.push_back(open.empty() ? kNone : open.back());
      h.last.push_back(node + 1);
      h.thread.push_back(thread);
      h.name.push_back(NameOf(s));
      if (!s.inferred) NodeOf(s) = node;
      open.push_back(node);
    }
    const auto last = static_cast<uint32_t>(h.size());
    for (const uint32_t node : open) h.last[node] = last;
    out_.threads.push_back({thread, first, last});
  }

  StringId NameOf(const HostSpan& s) const {
    switch (s.kind) {
      case HostKind::kRange: return data_.range.name[s.row];
      case HostKind::kPython: return data_.python_call.name[s.row];
      case HostKind::kOp: return data_.op.name[s.row];
      case HostKind::kApi: return data_.api_call.name[s.row];
    }
    return StringId::kNull;
  }
  uint32_t& NodeOf(const HostSpan& s) {
    switch (s.kind) {
      case HostKind::kRange: return out_.node_of_range[s.row];
      case HostKind::kPython: return out_.node_of_python[s.row];
      case HostKind::kOp: return out_.node_of_op[s.row];
      case HostKind::kApi: break;
    }
    return out_.node_of_api[s.row];
  }

  // ---- device ----
  // Sets the launching call and the innermost op of every work item, which need the host tree.
  void LinkWork() {
    DeviceWork& w = out_.work;
    for (size_t k = 0; k < w.size(); ++k) {
      switch (w.kind[k]) {
        case WorkKind::kKernel: Link(k, data_.kernel); break;
        case WorkKind::kMemcpy: Link(k, data_.memcpy); break;
        case WorkKind::kMemset: Link(k, data_.memset); break;
      }
    }
  }

  template <class Columns>
  void Link(size_t k, const Columns& t) {
    const size_t row = out_.work.row[k];
    const uint32_t launch = NodeAt(t.api_call_id, row, out_.node_of_api);
    uint32_t op = NodeAt(t.op_id, row, out_.node_of_op);
    for (uint32_t up = launch; op == kNone && up != kNone; up = out_.host.parent[up]) {
      if (out_.host.kind[up] == HostKind::kOp) op = up;
    }
    out_.work.launch[k] = launch;
    out_.work.op[k] = op;
  }

  static uint32_t NodeAt(const ColumnView<RowId>& links, size_t i, const std::vector<uint32_t>& nodes) {
    if (i >= links.size() || IsNull(links[i])) return kNone;
    const auto row = static_cast<size_t>(links[i]);
    return row < nodes.size() ? nodes[row] : kNone;
  }

  const RunData& data_;
  TimelineFacts& out_;
  std::vector<bool> on_device_;
  HostLanes spans_;
  int64_t untimed_ = 0;  // of the host; device work is counted beside it
  std::vector<size_t> merged_;
};

constexpr Reads kReads = kCompleteOpsReads | kDeviceWorkReads | kWorkRankReads | kWorkStreamReads |
                         kBoundsReads | kSampleBoundsReads | NL_READS(Kernel, api_call_id, op_id) |
                         NL_READS(Memcpy, api_call_id, op_id) | NL_READS(Memset, api_call_id, op_id) |
                         NL_READS(Range, thread_id, name, category, kind) |
                         NL_READS(PythonCall, thread_id, name) | NL_READS(Op, thread_id, name) |
                         NL_READS(ApiCall, thread_id, name);

class TimelinePass final : public Pass {
 public:
  PassInfo Info() const override {
    return {TimelineFacts::kName, "Device work and host spans in order, linked", {}, kReads};
  }
  Status Run(const RunData& data, const AnalysisOptions& options, FactBoard& facts) const override {
    TimelineFacts out;
    Builder(data, out).Build();
    if (options.part) CropTimeline(data, *options.part, out);
    facts.Put(std::move(out));
    return {};
  }
};

}  // namespace

const Pass& Describe() {
  static const TimelinePass pass;
  return pass;
}

}  // namespace nl::passes::timeline
