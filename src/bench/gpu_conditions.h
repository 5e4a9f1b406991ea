// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the GPUs did while something was measured: clocks, temperature, power and what limited the clocks,
// before, after and ten times a second in between (NVML). A pair in which a GPU was slowed down by heat or by
// its power supply is not counted. A power cap is stated, not rejected: a program that reaches the limit of
// its card always runs so. Of the GPUs of the machine those count that CUDA_VISIBLE_DEVICES names, or all.
// Thread rule: one thread; it has a thread of its own for the readings. Ownership: plain values.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/record.h"

namespace nl::bench {

struct GpuState {
  std::optional<double> sm_clock_mhz, memory_clock_mhz, temperature_c, power_w;
  std::optional<std::vector<std::string>> clock_limit_reasons;
};
void Describe(Record<GpuState>& r);

struct GpuCondition {
  int64_t index = 0;
  std::optional<std::string> name;
  GpuState before, after;
  std::optional<double> sm_clock_min_mhz, sm_clock_max_mhz, temperature_max_c, power_max_w;
  std::vector<std::string> clock_limit_reasons;
  int64_t readings = 0;
};
void Describe(Record<GpuCondition>& r);

struct GpuConditions {
  std::vector<GpuCondition> gpus;
  std::optional<std::string> reason;
  std::optional<int64_t> locked_clock_mhz;
  std::optional<std::string> lock_reason;
  int64_t rejected_pairs = 0, power_capped_pairs = 0;
};
void Describe(Record<GpuConditions>& r);

class GpuSampler {
 public:
  // Reads once, then in a thread until Stop(). Without NVML or a GPU it does nothing but say why.
  GpuSampler();
  GpuSampler(const GpuSampler&) = delete;
  ~GpuSampler();

  bool has_gpus() const;
  // Whether a GPU was slowed down since the last call, for Interleave; `timed`: it is counted.
  bool PairIsSpoiled(bool timed);
  // Reads once more and ends the thread; what was seen.
  GpuConditions Stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// One line for people about throttling and locked clocks; empty: nothing to say.
std::string ConditionsText(const GpuConditions& conditions);

}  // namespace nl::bench
