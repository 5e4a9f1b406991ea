// SPDX-License-Identifier: Apache-2.0
#include "analyze/compare/attribute/counters.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "analyze/cost_model/kernel_counters.h"
#include "model/kernel_name.h"

namespace nl {

void Describe(Record<CounterMeans>& r) {
  r.Name("KernelCounters", "Hardware counters of one kernel in one run, means weighted by duration");
  r.Field("kernels", &CounterMeans::kernels, "Executions with counters");
  r.Field("total_ms", &CounterMeans::total_ms, Unit::kMs, "Device time of these executions");
  r.Field("source", &CounterMeans::source, "Tool that captured the counters");
  r.Field("achieved_occupancy", &CounterMeans::achieved_occupancy, Unit::kShare,
          "Active warps relative to the maximum");
  r.Field("warp_execution_efficiency", &CounterMeans::warp_execution_efficiency, Unit::kShare,
          "Active threads per warp relative to the warp size");
  r.Field("l2_hit_rate", &CounterMeans::l2_hit_rate, Unit::kShare, "L2 hits relative to L2 accesses");
  r.Field("dram_read_gb", &CounterMeans::dram_read_gb, "Gigabytes read from device memory per execution");
  r.Field("dram_write_gb", &CounterMeans::dram_write_gb, "Gigabytes written to device memory per execution");
  r.Field("sm_efficiency", &CounterMeans::sm_efficiency, Unit::kShare,
          "Time with at least one active warp, mean over the multiprocessors");
  r.Field("tensor_active", &CounterMeans::tensor_active, Unit::kShare,
          "Time in which the tensor cores were active");
}

void Describe(Record<CounterComparison>& r) {
  r.Name("CompareCounters", "Hardware counters of one kernel in both runs");
  r.Field("kernel", &CounterComparison::kernel, "Short kernel name");
  r.Field("a", &CounterComparison::a, "Run A; null: no counters");
  r.Field("b", &CounterComparison::b, "Run B; null: no counters");
}

namespace compare {

namespace {

// A counter by its name in run documents, in the tables and in the result.
struct Metric {
  const char* name;
  Counter counter;
  std::optional<double> CounterMeans::*mean;
};
constexpr std::array<Metric, 7> kMetrics = {{
    {"achieved_occupancy", Counter::kAchievedOccupancy, &CounterMeans::achieved_occupancy},
    {"warp_execution_efficiency", Counter::kWarpExecutionEfficiency,
     &CounterMeans::warp_execution_efficiency},
    {"l2_hit_rate", Counter::kL2HitRate, &CounterMeans::l2_hit_rate},
    {"dram_read_gb", Counter::kDramReadBytes, &CounterMeans::dram_read_gb},
    {"dram_write_gb", Counter::kDramWriteBytes, &CounterMeans::dram_write_gb},
    {"sm_efficiency", Counter::kSmEfficiency, &CounterMeans::sm_efficiency},
    {"tensor_active", Counter::kTensorActive, &CounterMeans::tensor_active},
}};

struct SideCounters {
  std::array<double, kMetrics.size()> sum{}, weight_ms{};
  double total_ms = 0;
  int64_t kernels = 0;
  std::string source;
  bool any = false;
};
using ByKernel = std::map<std::string, SideCounters>;

// Counters in the run document.
void Collect(const Json& document, ByKernel& out) {
  if (!document.is_object() || !document.contains("timeline") || !document["timeline"].is_array()) return;
  for (const Json& op : document["timeline"]) {
    if (!op.is_object() || !op.contains("kernels") || !op["kernels"].is_array()) continue;
    for (const Json& kernel : op["kernels"]) {
      // Estimates from the launch configuration are not captured counters.
      if (!kernel.contains("counter_source") || !kernel["counter_source"].is_string() ||
          kernel["counter_source"] == "estimate" || !kernel.contains("name"))
        continue;
      SideCounters& to = out[ParseKernelName(kernel["name"].get<std::string>()).short_name];
      const double ms = kernel.value("duration_ms", 0.0);
      to.total_ms += ms;
      ++to.kernels;
      to.source = kernel["counter_source"].get<std::string>();
      for (size_t m = 0; m < kMetrics.size(); ++m) {
        const auto value = kernel.find(kMetrics[m].name);
        if (value == kernel.end() || !value->is_number()) continue;
        to.sum[m] += ms * value->get<double>();
        to.weight_ms[m] += ms;
        to.any = true;
      }
    }
  }
}

// Counters in the tables; bytes become GB.
void CollectTable(const RunData& data, ByKernel& out) {
  const KernelCounters counters(data);
  std::map<std::string, CounterSum> sums;
  for (size_t row = 0; row < data.kernel.name.size() && !counters.empty(); ++row) {
    const CounterValues* values = counters.Of(static_cast<int64_t>(row));
    if (values == nullptr) continue;
    const bool timed = row < data.kernel.dur_ns.size() && !IsNull(data.kernel.dur_ns[row]);
    sums[ParseKernelName(data.Text(data.kernel.name[row])).short_name].Add(
        *values, timed ? data.kernel.dur_ns[row] : values->dur_ns);
  }
  for (const auto& [name, sum] : sums) {
    SideCounters to;
    to.total_ms = static_cast<double>(sum.ns()) / 1e6;
    to.kernels = sum.executions();
    to.source = std::string(data.Text(sum.source()));
    for (size_t m = 0; m < kMetrics.size(); ++m) {
      const auto mean = sum.Mean(kMetrics[m].counter);
      if (!mean) continue;
      const bool bytes =
          kMetrics[m].counter == Counter::kDramReadBytes || kMetrics[m].counter == Counter::kDramWriteBytes;
      to.sum[m] = bytes ? *mean / 1e9 : *mean;
      to.weight_ms[m] = 1;
      to.any = true;
    }
    out[name] = to;
  }
}

std::optional<CounterMeans> MeansOf(const ByKernel& side, const std::string& kernel) {
  const auto it = side.find(kernel);
  if (it == side.end() || !it->second.any) return std::nullopt;
  CounterMeans out;
  out.kernels = it->second.kernels;
  out.total_ms = it->second.total_ms;
  out.source = it->second.source;
  for (size_t m = 0; m < kMetrics.size(); ++m) {
    const double weight = it->second.weight_ms[m];
    if (weight > 0) out.*kMetrics[m].mean = it->second.sum[m] / weight;
  }
  return out;
}

}  // namespace

std::vector<CounterComparison> CompareCounters(const Analysis& a, const Analysis& b) {
  ByKernel in_a, in_b;
  Collect(a.data().document, in_a);
  Collect(b.data().document, in_b);
  CollectTable(a.data(), in_a);
  CollectTable(b.data(), in_b);
  std::map<std::string, double> names;
  for (const ByKernel* side : {&in_a, &in_b}) {
    for (const auto& [name, counters] : *side) {
      if (counters.any) names[name] += counters.total_ms;
    }
  }
  std::vector<std::pair<double, std::string>> order;
  for (const auto& [name, ms] : names) order.push_back({-ms, name});
  std::sort(order.begin(), order.end());
  std::vector<CounterComparison> out;
  for (const auto& [ms, name] : order) out.push_back({name, MeansOf(in_a, name), MeansOf(in_b, name)});
  return out;
}

}  // namespace compare
}  // namespace nl
