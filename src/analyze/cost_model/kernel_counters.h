// SPDX-License-Identifier: Apache-2.0
#pragma once
// KernelCounters: the hardware counters of a run (table kernel_counter), one row per kernel
// execution that was measured, and means over them. Of several measurements of one kernel
// the last that has a value counts. What was not measured is absent.
// Thread rule: built once, then read by any thread. Ownership: owns its values; refers to
// the run's strings.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyze/run_data.h"

namespace nl {

enum class Counter : uint8_t {
  kAchievedOccupancy,
  kWarpExecutionEfficiency,
  kSmEfficiency,
  kTensorActive,
  kSmThroughput,
  kDramThroughput,
  kL2HitRate,
  kDramReadBytes,
  kDramWriteBytes,
  kDramBytes,
  kFlops,
  kLocalSectors,
  kBankConflicts,
  kCoalescing,
  kStallMemory,
  kStallSync,
  kStallDependency,
  kStallContention,
};
inline constexpr size_t kCounters = static_cast<size_t>(Counter::kStallContention) + 1;

struct CounterValues {
  std::array<double, kCounters> values;  // NaN: not measured
  int64_t dur_ns = 0;                    // of the execution that was measured
  StringId source = StringId::kNull;

  double Get(Counter counter) const { return values[static_cast<size_t>(counter)]; }
};

// Means over executions, by their duration in the run, and sums.
class CounterSum {
 public:
  void Add(const CounterValues& values, int64_t dur_ns);
  // Over the executions that have it; nothing when none has.
  std::optional<double> Mean(Counter counter) const;
  std::optional<double> Sum(Counter counter) const;
  int64_t executions() const { return executions_; }
  int64_t ns() const { return ns_; }
  StringId source() const { return source_; }

 private:
  std::array<double, kCounters> weighted_{}, weight_ns_{}, sum_{};
  std::array<int64_t, kCounters> count_{};
  int64_t executions_ = 0, ns_ = 0;
  StringId source_ = StringId::kNull;
};

inline constexpr Reads kKernelCounterReads =
    NL_READS(Kernel, name, dur_ns) |
    NL_READS(KernelCounter, kernel_id, source, dur_ns, achieved_occupancy, warp_execution_efficiency,
             sm_efficiency, tensor_active, sm_throughput, dram_throughput, l2_hit_rate, dram_read_bytes,
             dram_write_bytes, dram_bytes, flops, local_sectors, bank_conflicts, coalescing, stall_memory,
             stall_sync, stall_dependency, stall_contention);

class KernelCounters {
 public:
  explicit KernelCounters(const RunData& data);

  bool empty() const { return rows_.empty(); }
  // Of one row of table kernel; null when it was not measured.
  const CounterValues* Of(int64_t kernel_row) const;
  // Was any execution measured for one of these?
  bool Any(std::initializer_list<Counter> counters) const;
  // By kernel name as the run spells it.
  const std::unordered_map<uint32_t, CounterSum>& by_name() const { return by_name_; }
  const CounterSum* OfName(StringId name) const;
  const CounterSum* OfName(std::string_view name) const;

 private:
  std::unordered_map<int64_t, uint32_t> row_of_;  // kernel row -> rows_
  std::vector<CounterValues> rows_;
  std::unordered_map<uint32_t, CounterSum> by_name_;
  const StringPool* strings_;
};

}  // namespace nl
