// SPDX-License-Identifier: Apache-2.0
#include "analyze/compare/attribute/counters.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "analyze/cost_model/kernel_counters.h"
#include "model/kernel_name.h"

namespace nl::compare {

namespace {

constexpr std::array<const char*, 7> kMetrics = {"achieved_occupancy", "warp_execution_efficiency",
                                                 "l2_hit_rate",        "dram_read_gb",
                                                 "dram_write_gb",      "sm_efficiency",
                                                 "tensor_active"};

struct SideCounters {
  std::array<double, kMetrics.size()> sum{}, weight_ms{};
  double total_ms = 0;
  int64_t kernels = 0;
  std::string source;
  bool any = false;
};
using ByKernel = std::map<std::string, SideCounters>;

// What the run document tells of kernels.
void Collect(const Json& document, ByKernel& out) {
  if (!document.is_object() || !document.contains("timeline") || !document["timeline"].is_array()) return;
  for (const Json& op : document["timeline"]) {
    if (!op.is_object() || !op.contains("kernels") || !op["kernels"].is_array()) continue;
    for (const Json& kernel : op["kernels"]) {
      // What a tool estimates from the launch was not captured.
      if (!kernel.contains("counter_source") || !kernel["counter_source"].is_string() ||
          kernel["counter_source"] == "estimate" || !kernel.contains("name"))
        continue;
      SideCounters& to = out[ParseKernelName(kernel["name"].get<std::string>()).short_name];
      const double ms = kernel.value("duration_ms", 0.0);
      to.total_ms += ms;
      ++to.kernels;
      to.source = kernel["counter_source"].get<std::string>();
      for (size_t m = 0; m < kMetrics.size(); ++m) {
        if (!kernel.contains(kMetrics[m]) || !kernel[kMetrics[m]].is_number()) continue;
        to.sum[m] += ms * kernel[kMetrics[m]].get<double>();
        to.weight_ms[m] += ms;
        to.any = true;
      }
    }
  }
}

// What the tables tell: the same names, bytes as GB.
void CollectTable(const RunData& data, ByKernel& out) {
  constexpr std::array<Counter, kMetrics.size()> kCountersOf = {
      Counter::kAchievedOccupancy, Counter::kWarpExecutionEfficiency, Counter::kL2HitRate,
      Counter::kDramReadBytes,     Counter::kDramWriteBytes,          Counter::kSmEfficiency,
      Counter::kTensorActive};
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
      const auto mean = sum.Mean(kCountersOf[m]);
      if (!mean) continue;
      const bool bytes =
          kCountersOf[m] == Counter::kDramReadBytes || kCountersOf[m] == Counter::kDramWriteBytes;
      to.sum[m] = bytes ? *mean / 1e9 : *mean;
      to.weight_ms[m] = 1;
      to.any = true;
    }
    out[name] = to;
  }
}

Json SideJson(const ByKernel& side, const std::string& kernel) {
  const auto it = side.find(kernel);
  if (it == side.end() || !it->second.any) return Json();
  Json out = {
      {"kernels", it->second.kernels}, {"total_ms", it->second.total_ms}, {"source", it->second.source}};
  for (size_t m = 0; m < kMetrics.size(); ++m) {
    const double weight = it->second.weight_ms[m];
    out[kMetrics[m]] = weight > 0 ? Json(it->second.sum[m] / weight) : Json();
  }
  return out;
}

}  // namespace

Json CompareCounters(const Analysis& a, const Analysis& b) {
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
  Json out = Json::array();
  for (const auto& [ms, name] : order)
    out.push_back({{"kernel", name}, {"a", SideJson(in_a, name)}, {"b", SideJson(in_b, name)}});
  return out;
}

}  // namespace nl::compare
