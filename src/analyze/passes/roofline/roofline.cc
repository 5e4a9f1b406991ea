// SPDX-License-Identifier: Apache-2.0
// Compares what every op computes and moves with the device time of its own kernels.

#include "analyze/facts/roofline.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>

#include "analyze/cost_model/flops.h"
#include "analyze/cost_model/kernel_counters.h"
#include "analyze/facts/timeline.h"
#include "analyze/pass.h"

namespace nl {

namespace {

std::optional<double> Ratio(std::optional<double> part, std::optional<double> whole) {
  if (!part || !whole || *whole <= 0) return std::nullopt;
  return *part / *whole;
}

}  // namespace

std::optional<double> RooflinePoint::Ai() const { return Ratio(flops, bytes); }
// FLOPs per ns are GFLOP/s.
std::optional<double> RooflinePoint::Tflops() const {
  const auto rate = Ratio(flops, static_cast<double>(measured_ns));
  return rate ? std::optional<double>(*rate / 1e3) : std::nullopt;
}
std::optional<double> RooflinePoint::Gbps() const { return Ratio(bytes, static_cast<double>(measured_ns)); }
std::optional<double> RooflinePoint::Efficiency() const {
  const auto share = Ratio(roof_ns, static_cast<double>(measured_ns));
  return share && *share > kMostEfficiency ? std::nullopt : share;
}
std::optional<double> RooflinePoint::MeasuredEfficiency() const {
  const auto share = Ratio(measured_roof_ns, static_cast<double>(measured_ns));
  return share && *share > kMostEfficiency ? std::nullopt : share;
}
bool RooflinePoint::AbovePeak() const {
  const auto share = Ratio(roof_ns, static_cast<double>(measured_ns));
  return share && *share > kMostEfficiency;
}

namespace passes::roofline {

namespace {

class Builder {
 public:
  Builder(const TimelineFacts& timeline, const RunData& data, const AnalysisOptions& options,
          RooflineFacts& out)
      : host_(timeline.host),
        work_(timeline.work),
        timeline_(timeline),
        data_(data),
        options_(options),
        costs_(data),
        out_(out) {}

  Status Build() {
    NL_TRY(FindPeaksOfDevices());
    GroupByCall();
    AddPoints();
    AddKernels();
    AddCounted();
    const auto busiest = [](const RooflinePoint& a, const RooflinePoint& b) {
      return std::tie(b.measured_ns, a.op, a.dims, a.types, a.kernel, a.device) <
             std::tie(a.measured_ns, b.op, b.dims, b.types, b.kernel, b.device);
    };
    std::sort(out_.points.begin(), out_.points.end(), busiest);
    std::sort(out_.kernels.begin(), out_.kernels.end(), busiest);
    std::sort(out_.counted.begin(), out_.counted.end(), busiest);
    for (const RooflinePoint& p : out_.points) {
      if (p.Efficiency()) out_.assessed_ns += p.measured_ns;
    }
    return {};
  }

 private:
  struct PointKey {
    StringId a, b, c;
    int32_t device;
    bool operator==(const PointKey&) const = default;
  };
  struct Hash {
    size_t operator()(const PointKey& k) const {
      uint64_t h = static_cast<uint32_t>(k.device);
      for (const StringId id : {k.a, k.b, k.c}) h = (h ^ static_cast<uint32_t>(id)) * 0x9e3779b97f4a7c15u;
      return static_cast<size_t>(h ^ (h >> 32));
    }
  };
  using Slots = std::unordered_map<PointKey, uint32_t, Hash>;
  // One call of an op: the kernels it launched itself.
  struct Call {
    int64_t device_ns = 0;
    uint32_t first = kNone, longest = kNone;  // work items
    uint32_t kernels = 0;
    int64_t tf32_ns = 0;  // of device_ns
    bool one_name = true;
  };

  Status FindPeaksOfDevices() {
    for (const DeviceKey& key : timeline_.devices) {
      if (out_.peaks.count(key.device) > 0) continue;
      NL_ASSIGN(std::optional<Peaks> peaks, PeaksOfDevice(data_, NamedDevice(key.device), options_));
      const std::string own_name = DeviceNameOf(data_, NamedDevice(key.device));
      if (auto measured = MeasuredPeaksFor(own_name, options_))
        out_.measured_peaks.emplace(key.device, *std::move(measured));
      if (peaks) {
        out_.peaks.emplace(key.device, *std::move(peaks));
      } else if (out_.peaks_reason.empty()) {
        const std::string name = DeviceNameOf(data_, NamedDevice(key.device));
        out_.peaks_reason =
            name.empty() ? "the run does not name its device; use --peaks"
                         : fmt::format("the peaks of '{}' are unknown; use --peaks or --peaks-file", name);
      }
    }
    return {};
  }

  // Processes that see one device call it 0 while the driver numbers its work otherwise (seen with ROCm 6):
  // when every device of the run has one name, it is that one.
  int32_t NamedDevice(int32_t device) const {
    const DeviceView& d = data_.device;
    if (d.name.empty() || !DeviceNameOf(data_, device).empty()) return device;
    const bool all_same =
        std::all_of(d.name.begin(), d.name.end(), [&](StringId n) { return n == d.name[0]; });
    return all_same ? d.device[0] : device;
  }

  void GroupByCall() {
    call_of_node_.assign(host_.size(), kNone);
    for (uint32_t i = 0; i < work_.size(); ++i) {
      if (work_.kind[i] != WorkKind::kKernel) continue;
      const int64_t ns = work_.end_ns[i] - work_.start_ns[i];
      out_.device_ns += ns;
      if (work_.op[i] == kNone) continue;
      uint32_t& slot = call_of_node_[work_.op[i]];
      if (slot == kNone) {
        slot = static_cast<uint32_t>(calls_.size());
        calls_.emplace_back();
        nodes_.push_back(work_.op[i]);
        calls_.back().first = calls_.back().longest = i;
      }
      Call& call = calls_[slot];
      if (ns > work_.end_ns[call.longest] - work_.start_ns[call.longest]) call.longest = i;
      call.device_ns += ns;
      ++call.kernels;
      if (IsTf32(work_.name[i])) call.tf32_ns += ns;
      call.one_name = call.one_name && work_.name[i] == work_.name[call.first];
    }
  }

  // Kernels that multiply fp32 operands rounded to tf32 (xf32 on AMD), by their names.
  bool IsTf32(StringId name) {
    if (IsNull(name)) return false;
    const auto [it, added] = tf32_names_.try_emplace(static_cast<uint32_t>(name), false);
    if (!added) return it->second;
    const std::string_view text = data_.Text(name);
    for (const std::string_view mark : {"tf32", "TF32", "tfloat32", "s1688", "xf32", "XF32", "_X32_"})
      it->second = it->second || text.find(mark) != std::string_view::npos;
    return it->second;
  }

  // Of the kernel that took most of a call: the operands', not what they are rounded to.
  std::string_view DtypeOf(const Call& call) const {
    if (IsNull(work_.name[call.longest])) return {};
    const std::string_view dtype = KernelDtype(timeline_.KernelNameOf(work_.name[call.longest]).short_name);
    return dtype == "tf32" ? "fp32" : dtype;
  }

  static StringId At(const ColumnView<StringId>& column, size_t row) {
    return row < column.size() ? column[row] : StringId::kNull;
  }
  int32_t DeviceOf(uint32_t item) const { return timeline_.devices[work_.device[item]].device; }

  static RooflinePoint& PointAt(Slots& slots, std::vector<RooflinePoint>& points, const PointKey& key,
                                bool& added) {
    const auto at = slots.try_emplace(key, static_cast<uint32_t>(points.size()));
    added = at.second;
    if (added) points.emplace_back();
    return points[at.first->second];
  }

  // Sums stay known only while every part is.
  static void AddCost(RooflinePoint& p, const OpCost& cost, bool first) {
    if (first) {
      p.flops = p.bytes = 0;
      p.reason = cost.reason;
    }
    p.flops = p.flops && cost.flops ? std::optional<double>(*p.flops + *cost.flops) : std::nullopt;
    p.bytes = p.bytes && cost.bytes ? std::optional<double>(*p.bytes + *cost.bytes) : std::nullopt;
    if (p.reason.empty()) p.reason = cost.reason;
  }

  void AddPoints() {
    Slots slots;
    std::vector<uint32_t> cost_of_point;
    point_cost_.resize(calls_.size());
    for (size_t c = 0; c < calls_.size(); ++c) {
      const Call& call = calls_[c];
      const size_t row = host_.row[nodes_[c]];
      const uint32_t cost = costs_.SlotOf(row, DtypeOf(call));
      point_cost_[c] = cost;
      bool added = false;
      const PointKey key{host_.name[nodes_[c]], At(data_.op.input_dims, row), At(data_.op.input_types, row),
                         DeviceOf(call.first)};
      RooflinePoint& p = PointAt(slots, out_.points, key, added);
      AddCost(p, costs_.Cost(cost), added);
      const StringId kernel = call.one_name ? work_.name[call.first] : StringId::kNull;
      if (added) {
        p.op = key.a;
        p.dims = key.b;
        p.types = key.c;
        p.device = key.device;
        p.kernel = kernel;
        p.type_from_kernel = costs_.Cost(cost).type_from_kernel;
        cost_of_point.push_back(cost);
      } else if (p.kernel != kernel) {
        p.kernel = StringId::kNull;
      }
      ++p.calls;
      p.kernels += call.kernels;
      p.measured_ns += call.device_ns;
      p.tf32_ns += call.tf32_ns;
    }
    for (size_t i = 0; i < out_.points.size(); ++i) SetRoof(out_.points[i], costs_.Cost(cost_of_point[i]));
  }

  // A kernel has its op's cost when the op ran it alone; the cost of several kernels cannot be divided.
  void AddKernels() {
    Slots slots;
    std::vector<uint32_t> cost_of_point;
    for (uint32_t i = 0; i < work_.size(); ++i) {
      if (work_.kind[i] != WorkKind::kKernel || work_.op[i] == kNone) continue;
      const uint32_t c = call_of_node_[work_.op[i]];
      bool added = false;
      const PointKey key{work_.name[i], StringId::kNull, StringId::kNull, DeviceOf(i)};
      RooflinePoint& p = PointAt(slots, out_.kernels, key, added);
      static const OpCost kShared = [] {
        OpCost cost;
        cost.reason = "its op launches several kernels";
        return cost;
      }();
      const OpCost& cost = calls_[c].kernels == 1 ? costs_.Cost(point_cost_[c]) : kShared;
      AddCost(p, cost, added);
      if (added) {
        p.kernel = key.a;
        p.op = host_.name[work_.op[i]];
        p.device = key.device;
        cost_of_point.push_back(point_cost_[c]);
      } else if (p.op != host_.name[work_.op[i]]) {
        p.op = StringId::kNull;
      }
      ++p.calls;
      ++p.kernels;
      p.measured_ns += work_.end_ns[i] - work_.start_ns[i];
      if (IsTf32(work_.name[i])) p.tf32_ns += work_.end_ns[i] - work_.start_ns[i];
    }
    for (size_t i = 0; i < out_.kernels.size(); ++i) SetRoof(out_.kernels[i], costs_.Cost(cost_of_point[i]));
  }

  // Executions with counters, by kernel. Their measured throughput is already a share of the peak:
  // neither a table of peaks nor the type of the operands is needed.
  void AddCounted() {
    const KernelCounters counters(data_);
    if (counters.empty()) return;
    Slots slots;
    std::vector<CounterSum> sums;
    for (uint32_t i = 0; i < work_.size(); ++i) {
      if (work_.kind[i] != WorkKind::kKernel) continue;
      const CounterValues* values = counters.Of(work_.row[i]);
      if (values == nullptr) continue;
      bool added = false;
      const PointKey key{work_.name[i], StringId::kNull, StringId::kNull, DeviceOf(i)};
      RooflinePoint& p = PointAt(slots, out_.counted, key, added);
      if (added) sums.emplace_back();
      const int64_t ns = work_.end_ns[i] - work_.start_ns[i];
      p.kernel = key.a;
      p.device = key.device;
      ++p.calls;
      ++p.kernels;
      p.measured_ns += ns;
      out_.counted_ns += ns;
      sums[static_cast<size_t>(&p - out_.counted.data())].Add(*values, ns);
    }
    for (size_t i = 0; i < sums.size(); ++i) SetCounted(out_.counted[i], sums[i]);
  }

  static void SetCounted(RooflinePoint& p, const CounterSum& sum) {
    p.counted = true;
    p.flops = sum.Sum(Counter::kFlops);
    p.bytes = sum.Sum(Counter::kDramBytes);
    const auto compute = sum.Mean(Counter::kSmThroughput), memory = sum.Mean(Counter::kDramThroughput);
    if (!compute || !memory) {
      p.reason = "SM and DRAM throughput were not both measured";
      return;
    }
    p.roof_ns = std::max(*compute, *memory) * static_cast<double>(p.measured_ns);
    p.bound = *compute > *memory ? RooflineBound::kCompute : RooflineBound::kMemory;
  }

  // Matrix units have the peak of the operands' type; the rest runs on the vector units.
  static std::string PeakDtype(const RooflinePoint& p, const OpCost& cost) {
    if (!cost.matrix) return cost.dtype == "fp64" ? "fp64" : "fp32";
    return cost.dtype == "fp32" && 2 * p.tf32_ns > p.measured_ns ? "tf32" : cost.dtype;
  }

  void SetRoof(RooflinePoint& p, const OpCost& cost) const {
    p.dtype = PeakDtype(p, cost);
    p.matrix = cost.matrix;
    if (!p.bytes || (!p.flops && !cost.memory_only)) {
      // What is known is still shown; a roof needs both.
      if (p.reason.empty()) p.reason = "FLOPs or bytes are unknown for some of its calls";
      return;
    }
    const auto peaks = out_.peaks.find(p.device);
    if (peaks == out_.peaks.end()) {
      p.reason = out_.peaks_reason;
      return;
    }
    const auto tflops = peaks->second.TflopsFor(p.dtype);
    const auto gbps = peaks->second.dram_gbps;
    const double flops = p.flops.value_or(0);
    if (!gbps || (!tflops && flops > 0)) {
      p.reason = gbps ? fmt::format("no peak of {} is known for {}", peaks->second.device, p.dtype)
                      : fmt::format("the memory bandwidth of {} is not known", peaks->second.device);
      return;
    }
    const double compute_ns = tflops ? flops / *tflops / 1e3 : 0;
    const double memory_ns = *p.bytes / *gbps;
    p.roof_ns = std::max(compute_ns, memory_ns);
    p.bound = compute_ns > memory_ns ? RooflineBound::kCompute : RooflineBound::kMemory;
    SetMeasuredRoof(p);
    if (!p.AbovePeak()) return;
    p.reason =
        p.bound == RooflineBound::kMemory
            ? "faster than the memory allows: its data came from the cache, or it touches only part of "
              "its inputs"
            : "faster than the peak allows: it does less work than its shapes say (masked or sparse), "
              "or works in a smaller type";
  }

  void SetMeasuredRoof(RooflinePoint& p) const {
    const auto peaks = out_.measured_peaks.find(p.device);
    if (peaks == out_.measured_peaks.end()) return;
    const auto tflops = peaks->second.TflopsFor(p.dtype);
    const auto gbps = peaks->second.dram_gbps;
    const double flops = p.flops.value_or(0);
    if (!gbps || (!tflops && flops > 0)) return;
    p.measured_roof_ns = std::max(tflops ? flops / *tflops / 1e3 : 0, *p.bytes / *gbps);
  }

  const HostTree& host_;
  const DeviceWork& work_;
  const TimelineFacts& timeline_;
  const RunData& data_;
  const AnalysisOptions& options_;
  CostTable costs_;
  RooflineFacts& out_;
  std::vector<uint32_t> call_of_node_;  // by host node
  std::unordered_map<uint32_t, bool> tf32_names_;
  std::vector<Call> calls_;
  std::vector<uint32_t> nodes_;       // by call
  std::vector<uint32_t> point_cost_;  // by call: slot of its cost
};

constexpr size_t kReportRows = 100;

class RooflinePass final : public Pass {
 public:
  PassInfo Info() const override {
    return {RooflineFacts::kName,
            "How close ops and kernels come to what the device can do",
            {TimelineFacts::kName},
            kDeviceNameReads | kCostTableReads | kKernelCounterReads,
            &RecordOf<RooflineSection>};
  }
  Status Run(const RunData& data, const AnalysisOptions& options, FactBoard& facts) const override {
    RooflineFacts out;
    NL_TRY(Builder(facts.Get<TimelineFacts>(), data, options, out).Build());
    facts.Put(std::move(out));
    return {};
  }
  Described Section(const RunData& data, const FactBoard& facts) const override {
    return Described::Of(SectionOf(facts.Get<RooflineFacts>(), data, kReportRows));
  }
};

}  // namespace

const Pass& Describe() {
  static const RooflinePass pass;
  return pass;
}

}  // namespace passes::roofline

}  // namespace nl
