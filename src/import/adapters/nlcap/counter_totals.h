// SPDX-License-Identifier: Apache-2.0
#pragma once
// CounterTotals: readings of hardware counters of one kernel added up, and what they say of an
// execution of it. The roles are what a sampled metric means, whatever it is called on a chip.
// Thread rule: plain data.

#include <array>
#include <cstdint>
#include <string_view>

#include "model/tables/kernel_counter.h"

namespace nl::adapters::nlcap {

enum class CounterRole : uint8_t {
  kSmActive,  // percentages of elapsed time
  kWarpsActive,
  kTensorActive,
  kSmThroughput,
  kDramThroughput,
  kL2Hit,     // percentage of sectors
  kDramRead,  // bytes
  kDramWrite,
  kPcieRead,
  kPcieWrite,
  kL2Sectors,  // counts
  kSmCycles,
  kWarpInstructions,
  kThreadInstructions,
  kCount,
  kNone = kCount
};
inline constexpr size_t kRoles = static_cast<size_t>(CounterRole::kCount);

// Percentages are means over a reading, the rest counts.
constexpr bool IsCount(size_t role) { return role > static_cast<size_t>(CounterRole::kL2Hit); }

struct RoleOf {
  CounterRole role = CounterRole::kNone;
  double factor = 1;
};
// By the name CUPTI has for the metric.
RoleOf FindRole(std::string_view metric);

// One reading by role, NaN where it has none.
struct RoleValues {
  RoleValues();
  double operator[](CounterRole role) const { return values[static_cast<size_t>(role)]; }
  std::array<double, kRoles> values;
};

class CounterTotals {
 public:
  // `busy`: the share of the reading in which the kernel ran.
  void Add(const RoleValues& reading, int64_t length_ns, int64_t samples, double busy);
  int64_t samples() const { return samples_; }
  double busy_ns() const { return busy_ns_; }
  // Fills the counters of an execution of that length; what was not read stays null.
  void Fill(int64_t dur_ns, KernelCounterRow& row) const;

 private:
  double Sum(CounterRole role) const { return sums_[static_cast<size_t>(role)]; }
  // NaN when no reading had it.
  double Share(CounterRole role) const;

  int64_t samples_ = 0;
  double busy_ns_ = 0, length_ns_ = 0, l2_weight_ = 0;
  std::array<double, kRoles> sums_{};  // of counts; of percentages times length
};

}  // namespace nl::adapters::nlcap
