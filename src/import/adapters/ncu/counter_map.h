// SPDX-License-Identifier: Apache-2.0
#pragma once
// CounterMap: the one place that knows which metric of Nsight Compute is which counter of
// table kernel_counter, under its raw name (dram__bytes_read.sum) and under the label of
// the details page ("DRAM Throughput").
// Thread rule: FindInput is pure; a KernelInputs belongs to one thread.

#include <array>
#include <cstdint>
#include <string_view>

#include "model/tables/kernel.h"
#include "model/tables/kernel_counter.h"

namespace nl::adapters::ncu {

// What the counters are made of. Several metrics may give one input; the first given counts,
// but for the sums.
enum class Input : int8_t {
  kNone = -1,
  kDurationNs,
  kOccupancyPct,
  kThreadsPerWarp,
  kSmActiveCycles,
  kSmElapsedCycles,
  kTensorPct,
  kSmPct,
  kDramPct,
  kL2HitPct,
  kDramRead,
  kDramWrite,
  kDramBytes,
  kDramRate,
  kSmClock,
  kTheoreticalPct,
  kRegisters,
  kStaticShared,
  kDynamicShared,
  kSmCount,
  kLocalSectors,   // sum of loads and stores
  kBankConflicts,  // of both
  kConflictsPart,  // sum of loads and stores, where both is not given
  kCoalescingPct,
  kWarpLatency,  // cycles between two instructions of a warp: what stalls are a part of
  kStallMemory,  // sums over reasons
  kStallSync,
  kStallDependency,
  kStallContention,
  kTensorFlops,       // sum over types
  kVectorFlops,       // sum over instructions, absolute
  kVectorFlopsRate,   // the same, per elapsed cycle of a sub-partition
  kSubElapsedCycles,  // of a sub-partition
  kCount
};

struct InputOf {
  Input input = Input::kNone;
  double factor = 1;  // FLOPs of one instruction
  bool sum = false;
};

// `unit` as ParseUnit names it: one label means different things in different units.
InputOf FindInput(std::string_view metric, std::string_view unit);

class KernelInputs {
 public:
  KernelInputs() { Clear(); }
  void Clear();
  void Put(const InputOf& to, double value);
  double Get(Input input) const { return values_[static_cast<size_t>(input)]; }

  // Columns of the kernel that are given by metrics.
  void Fill(KernelRow& row) const;
  // The counters; false when none was measured.
  bool Fill(KernelCounterRow& row) const;

 private:
  std::array<double, static_cast<size_t>(Input::kCount)> values_;
};

}  // namespace nl::adapters::ncu
