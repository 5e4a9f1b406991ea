// SPDX-License-Identifier: Apache-2.0
#include "import/adapters/ncu/counter_map.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace nl::adapters::ncu {

namespace {

struct Named {
  std::string_view name, unit;  // unit "" takes any
  Input input;
  bool sum = false;
};
// Names of 2022.3 to 2025.3; the details page has the labels, the raw page and --metrics the rest.
constexpr Named kNamed[] = {
    {"Duration", "ns", Input::kDurationNs},
    {"gpu__time_duration.sum", "ns", Input::kDurationNs},
    {"Achieved Occupancy", "%", Input::kOccupancyPct},
    {"sm__warps_active.avg.pct_of_peak_sustained_active", "%", Input::kOccupancyPct},
    {"Theoretical Occupancy", "%", Input::kTheoreticalPct},
    {"sm__maximum_warps_per_active_cycle_pct", "%", Input::kTheoreticalPct},
    {"Avg. Active Threads Per Warp", "", Input::kThreadsPerWarp},
    {"smsp__thread_inst_executed_per_inst_executed.ratio", "", Input::kThreadsPerWarp},
    {"SM Active Cycles", "cycle", Input::kSmActiveCycles},
    {"sm__cycles_active.avg", "cycle", Input::kSmActiveCycles},
    {"Elapsed Cycles", "cycle", Input::kSmElapsedCycles},
    {"sm__cycles_elapsed.avg", "cycle", Input::kSmElapsedCycles},
    {"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed", "%", Input::kTensorPct},
    {"sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_elapsed", "%", Input::kTensorPct},
    {"Compute (SM) Throughput", "%", Input::kSmPct},
    {"sm__throughput.avg.pct_of_peak_sustained_elapsed", "%", Input::kSmPct},
    {"DRAM Throughput", "%", Input::kDramPct},
    {"gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", "%", Input::kDramPct},
    {"dram__throughput.avg.pct_of_peak_sustained_elapsed", "%", Input::kDramPct},
    {"L2 Hit Rate", "%", Input::kL2HitPct},
    {"lts__t_sector_hit_rate.pct", "%", Input::kL2HitPct},
    {"dram__bytes_read.sum", "byte", Input::kDramRead},
    {"dram__bytes_write.sum", "byte", Input::kDramWrite},
    {"dram__bytes.sum", "byte", Input::kDramBytes},
    {"dram__bytes.sum.per_second", "byte/s", Input::kDramRate},
    {"Memory Throughput", "byte/s", Input::kDramRate},
    {"SM Frequency", "Hz", Input::kSmClock},
    {"sm__cycles_elapsed.avg.per_second", "Hz", Input::kSmClock},
    {"gpc__cycles_elapsed.avg.per_second", "Hz", Input::kSmClock},
    {"Registers Per Thread", "register/thread", Input::kRegisters},
    {"launch__registers_per_thread", "register/thread", Input::kRegisters},
    {"launch__shared_mem_per_block_static", "byte/block", Input::kStaticShared},
    {"launch__shared_mem_per_block_dynamic", "byte/block", Input::kDynamicShared},
    {"# SMs", "SM", Input::kSmCount},
    {"launch__sm_count", "SM", Input::kSmCount},
    {"l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum", "", Input::kLocalSectors, true},
    {"l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum", "", Input::kLocalSectors, true},
    {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", "", Input::kBankConflicts},
    {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum", "", Input::kConflictsPart, true},
    {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum", "", Input::kConflictsPart, true},
    {"smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct", "%", Input::kCoalescingPct},
    {"Warp Cycles Per Issued Instruction", "cycle", Input::kWarpLatency},
    {"smsp__average_warp_latency_per_inst_issued.ratio", "", Input::kWarpLatency},
    {"smsp__cycles_elapsed.avg", "cycle", Input::kSubElapsedCycles},
};

struct Reason {
  std::string_view name;
  Input input;
};
// Reasons a warp waits for; what it does instead (selected, not_selected) is not a stall.
constexpr Reason kReasons[] = {{"long_scoreboard", Input::kStallMemory},
                               {"lg_throttle", Input::kStallMemory},
                               {"tex_throttle", Input::kStallMemory},
                               {"drain", Input::kStallMemory},
                               {"imc_miss", Input::kStallMemory},
                               {"barrier", Input::kStallSync},
                               {"membar", Input::kStallSync},
                               {"wait", Input::kStallDependency},
                               {"short_scoreboard", Input::kStallDependency},
                               {"gmma", Input::kStallDependency},
                               {"math_pipe_throttle", Input::kStallContention},
                               {"mio_throttle", Input::kStallContention},
                               {"dispatch_stall", Input::kStallContention}};

struct Instruction {
  std::string_view name;
  double flops;
};
// Half instructions work on two values.
constexpr Instruction kInstructions[] = {{"fadd", 1}, {"fmul", 1}, {"ffma", 2}, {"hadd", 2}, {"hmul", 2},
                                         {"hfma", 4}, {"dadd", 1}, {"dmul", 1}, {"dfma", 2}};

// `name` as prefix + what + suffix; empty when it is not.
std::string_view Between(std::string_view name, std::string_view prefix, std::string_view suffix) {
  if (name.size() <= prefix.size() + suffix.size() || !name.starts_with(prefix) || !name.ends_with(suffix))
    return {};
  return name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
}

InputOf FindStall(std::string_view metric) {
  const std::string_view what =
      Between(metric, "smsp__average_warps_issue_stalled_", "_per_issue_active.ratio");
  for (const Reason& reason : kReasons) {
    if (reason.name == what) return {reason.input, 1, true};
  }
  return {};
}

InputOf FindFlops(std::string_view metric) {
  constexpr std::string_view kVector = "smsp__sass_thread_inst_executed_op_";
  const std::string_view rate = Between(metric, kVector, "_pred_on.sum.per_cycle_elapsed");
  const std::string_view whole = Between(metric, kVector, "_pred_on.sum");
  for (const Instruction& i : kInstructions) {
    if (rate == i.name) return {Input::kVectorFlopsRate, i.flops, true};
    if (whole == i.name) return {Input::kVectorFlops, i.flops, true};
  }
  // By type of the operands; the same again by instruction (_op_) would count twice.
  const std::string_view type = Between(metric, "sm__ops_path_tensor_src_", ".sum");
  if (type.starts_with("fp") || type.starts_with("bf") || type.starts_with("tf"))
    return {Input::kTensorFlops, 1, true};
  return {};
}

double Ratio(double value, double whole) {
  return std::isfinite(value) && whole > 0 ? value / whole : std::numeric_limits<double>::quiet_NaN();
}

// Rounding and multi-pass collection give a little more than all at times.
double Share(double value, double whole) {
  const double ratio = Ratio(value, whole);
  return std::isfinite(ratio) ? std::clamp(ratio, 0.0, 1.0) : ratio;
}

}  // namespace

InputOf FindInput(std::string_view metric, std::string_view unit) {
  for (const Named& named : kNamed) {
    if (named.name == metric && (named.unit.empty() || named.unit == unit))
      return {named.input, 1, named.sum};
  }
  const InputOf stall = FindStall(metric);
  return stall.input != Input::kNone ? stall : FindFlops(metric);
}

void KernelInputs::Clear() { values_.fill(std::numeric_limits<double>::quiet_NaN()); }

void KernelInputs::Put(const InputOf& to, double value) {
  double& at = values_[static_cast<size_t>(to.input)];
  if (std::isnan(at))
    at = value * to.factor;
  else if (to.sum)
    at += value * to.factor;
}

void KernelInputs::Fill(KernelRow& row) const {
  const auto whole = [this](Input input, int64_t most) {
    const double value = Get(input);
    return value >= 0 && value <= static_cast<double>(most) ? std::optional<int64_t>(std::llround(value))
                                                            : std::nullopt;
  };
  if (const auto ns = whole(Input::kDurationNs, int64_t{86'400} * 1'000'000'000)) row.dur_ns = *ns;
  if (const auto count = whole(Input::kRegisters, 1 << 20))
    row.registers_per_thread = static_cast<int32_t>(*count);
  const auto fixed = whole(Input::kStaticShared, int64_t{1} << 40);
  const auto dynamic = whole(Input::kDynamicShared, int64_t{1} << 40);
  if (fixed && dynamic) row.shared_bytes = *fixed + *dynamic;
  row.estimated_occupancy_pct = Get(Input::kTheoreticalPct);
}

bool KernelInputs::Fill(KernelCounterRow& row) const {
  row.achieved_occupancy = Share(Get(Input::kOccupancyPct), 100);
  row.warp_execution_efficiency = Share(Get(Input::kThreadsPerWarp), 32);
  row.sm_efficiency = Share(Get(Input::kSmActiveCycles), Get(Input::kSmElapsedCycles));
  row.tensor_active = Share(Get(Input::kTensorPct), 100);
  row.sm_throughput = Share(Get(Input::kSmPct), 100);
  row.dram_throughput = Share(Get(Input::kDramPct), 100);
  row.l2_hit_rate = Share(Get(Input::kL2HitPct), 100);
  row.dram_read_bytes = Get(Input::kDramRead);
  row.dram_write_bytes = Get(Input::kDramWrite);
  row.dram_bytes = Get(Input::kDramBytes);
  const double ns = Get(Input::kDurationNs);
  if (std::isnan(row.dram_bytes)) row.dram_bytes = row.dram_read_bytes + row.dram_write_bytes;
  if (std::isnan(row.dram_bytes)) row.dram_bytes = Get(Input::kDramRate) * ns / 1e9;
  double vector = Get(Input::kVectorFlops);
  if (std::isnan(vector)) vector = Get(Input::kVectorFlopsRate) * Get(Input::kSubElapsedCycles);
  // Null unless both kinds of pipes were counted.
  row.flops = vector + Get(Input::kTensorFlops);
  row.sm_clock_hz = Get(Input::kSmClock);
  row.local_sectors = Get(Input::kLocalSectors);
  row.bank_conflicts = Get(Input::kBankConflicts);
  if (std::isnan(row.bank_conflicts)) row.bank_conflicts = Get(Input::kConflictsPart);
  row.coalescing = Share(Get(Input::kCoalescingPct), 100);
  const double latency = Get(Input::kWarpLatency);
  row.stall_memory = Share(Get(Input::kStallMemory), latency);
  row.stall_sync = Share(Get(Input::kStallSync), latency);
  row.stall_dependency = Share(Get(Input::kStallDependency), latency);
  row.stall_contention = Share(Get(Input::kStallContention), latency);
  for (double* value : {&row.dram_bytes, &row.flops}) {
    if (!std::isfinite(*value)) *value = std::numeric_limits<double>::quiet_NaN();
  }
  const double given[] = {row.achieved_occupancy,
                          row.warp_execution_efficiency,
                          row.sm_efficiency,
                          row.tensor_active,
                          row.sm_throughput,
                          row.dram_throughput,
                          row.l2_hit_rate,
                          row.dram_read_bytes,
                          row.dram_write_bytes,
                          row.dram_bytes,
                          row.flops,
                          row.sm_clock_hz,
                          row.local_sectors,
                          row.bank_conflicts,
                          row.coalescing,
                          row.stall_memory,
                          row.stall_sync,
                          row.stall_dependency,
                          row.stall_contention};
  if (ns >= 0 && ns < 9e18) row.dur_ns = std::llround(ns);
  return std::any_of(std::begin(given), std::end(given), [](double v) { return !std::isnan(v); });
}

}  // namespace nl::adapters::ncu
