// SPDX-License-Identifier: Apache-2.0
#pragma once
// Hardware counters of both runs by kernel name: means weighted by duration.
// Thread rule: pure functions. Ownership: plain values.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyze/analysis.h"
#include "base/record.h"

namespace nl {

// Counters of all executions of one kernel in one run. Null: that counter was not captured.
struct CounterMeans {
  int64_t kernels = 0;
  double total_ms = 0;
  std::string source;
  std::optional<double> achieved_occupancy, warp_execution_efficiency, l2_hit_rate;
  std::optional<double> dram_read_gb, dram_write_gb;
  std::optional<double> sm_efficiency, tensor_active;
};
struct CounterComparison {
  std::string kernel;
  std::optional<CounterMeans> a, b;  // null: no counters of it in that run
};
void Describe(Record<CounterMeans>& r);
void Describe(Record<CounterComparison>& r);

namespace compare {

// Longest kernels first. Empty when neither run has counters.
std::vector<CounterComparison> CompareCounters(const Analysis& a, const Analysis& b);

}  // namespace compare
}  // namespace nl
