// SPDX-License-Identifier: Apache-2.0
#include "import/adapters/nlcap/counter_totals.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace nl::adapters::nlcap {

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Named {
  std::string_view part;  // of the name
  RoleOf is;
};
// The first that is in the name counts. The sampled hit rate of GH100 (CUDA 13.0) is half of what
// ncu's lts__t_sector_hit_rate says: 25.7, 35.5, 25.0, 25.7 % against 51.5, 70.5, 50.0, 51.4 % of a
// copy, a matrix product, a softmax and a tanh. On other chips it is not known and not taken.
constexpr Named kNamed[] = {
    {"sm__cycles_active.avg.pct", {CounterRole::kSmActive}},
    {"warps_active", {CounterRole::kWarpsActive}},
    {"pipe_tensor_cycles_active", {CounterRole::kTensorActive}},
    {"sm__throughput.avg.pct", {CounterRole::kSmThroughput}},
    {"dramc__throughput.avg.pct", {CounterRole::kDramThroughput}},
    {"dram__throughput.avg.pct", {CounterRole::kDramThroughput}},
    {"TriageCompute.lts__average_t_sector_hit_rate_realtime.pct", {CounterRole::kL2Hit, 2}},
    {"lts__t_sector_hit_rate.pct", {CounterRole::kL2Hit}},
    {"dram__bytes_read.sum", {CounterRole::kDramRead}},
    {"dram__bytes_write.sum", {CounterRole::kDramWrite}},
    {"pcie__read_bytes.sum", {CounterRole::kPcieRead}},
    {"pcie__write_bytes.sum", {CounterRole::kPcieWrite}},
    {"lts__t_sectors.sum", {CounterRole::kL2Sectors}},
    {"gpc__cycles_elapsed.avg", {CounterRole::kSmCycles}},
    {"thread_inst_executed_pred_on", {CounterRole::kThreadInstructions}},
    {"sm__inst_executed_realtime.sum", {CounterRole::kWarpInstructions}},
    {"sm__inst_executed.sum", {CounterRole::kWarpInstructions}},
};

double Ratio(double value) { return std::isnan(value) ? value : std::clamp(value, 0.0, 1.0); }

}  // namespace

RoleOf FindRole(std::string_view metric) {
  for (const Named& named : kNamed) {
    if (metric.find(named.part) != std::string_view::npos) return named.is;
  }
  return {};
}

RoleValues::RoleValues() { values.fill(kNan); }

void CounterTotals::Add(const RoleValues& reading, int64_t length_ns, int64_t samples, double busy) {
  const auto ns = static_cast<double>(length_ns);
  samples_ += samples;
  length_ns_ += ns;
  busy_ns_ += ns * busy;
  for (size_t i = 0; i < kRoles; ++i) {
    if (i == static_cast<size_t>(CounterRole::kL2Hit)) continue;
    sums_[i] += IsCount(i) ? reading.values[i] : reading.values[i] * ns;
  }
  // A rate of sectors counts by how many there were.
  const double sectors = reading[CounterRole::kL2Sectors];
  const double weight = std::isnan(sectors) ? ns : sectors;
  if (weight <= 0) return;
  sums_[static_cast<size_t>(CounterRole::kL2Hit)] += reading[CounterRole::kL2Hit] * weight;
  l2_weight_ += weight;
}

double CounterTotals::Share(CounterRole role) const { return Ratio(Sum(role) / (100 * busy_ns_)); }

void CounterTotals::Fill(int64_t dur_ns, KernelCounterRow& row) const {
  if (samples_ == 0 || busy_ns_ <= 0) return;
  const auto scaled = [&](CounterRole role) { return Sum(role) * static_cast<double>(dur_ns) / busy_ns_; };
  row.dur_ns = dur_ns;
  row.sm_efficiency = Share(CounterRole::kSmActive);
  row.tensor_active = Share(CounterRole::kTensorActive);
  row.sm_throughput = Share(CounterRole::kSmThroughput);
  row.dram_throughput = Share(CounterRole::kDramThroughput);
  // Both are of elapsed time; occupancy is of the time SMs were active.
  if (Sum(CounterRole::kSmActive) > 0)
    row.achieved_occupancy = Ratio(Sum(CounterRole::kWarpsActive) / Sum(CounterRole::kSmActive));
  if (l2_weight_ > 0) row.l2_hit_rate = Ratio(Sum(CounterRole::kL2Hit) / (100 * l2_weight_));
  if (Sum(CounterRole::kWarpInstructions) > 0)
    row.warp_execution_efficiency =
        Ratio(Sum(CounterRole::kThreadInstructions) / (32 * Sum(CounterRole::kWarpInstructions)));
  row.dram_read_bytes = scaled(CounterRole::kDramRead);
  row.dram_write_bytes = scaled(CounterRole::kDramWrite);
  row.dram_bytes = row.dram_read_bytes + row.dram_write_bytes;
  row.sm_clock_hz = Sum(CounterRole::kSmCycles) / length_ns_ * 1e9;
}

}  // namespace nl::adapters::nlcap
