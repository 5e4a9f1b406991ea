// SPDX-License-Identifier: Apache-2.0
#pragma once
// How long a kernel of a ModelPlan takes on a device: the longer of its arithmetic and its traffic, at the
// shares of the datasheet peaks that such kernels reach, and never less than an empty kernel. The shares were
// measured on an H200 (bench/models/measure.py micro, docs/models.md); for other devices they are an assumption.
// Thread rule: pure functions.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyze/cost_model/model_plan.h"
#include "analyze/cost_model/peaks.h"
#include "base/record.h"

namespace nl {

// What kernels reach of the peaks, and what they cost whatever they do.
struct KernelEfficiency {
  double gemm_share = 0.75;       // of the matrix peak, in a product that fills the device
  double attention_share = 0.55;  // the same for fused attention
  double convolution_share = 0.55;
  double bandwidth_share = 0.85;  // of the DRAM bandwidth, in a kernel that moves much
  double cached_share = 1.3;      // of the DRAM bandwidth, where the data is still in the L2 cache
  double cache_bytes = 30e6;      // that a kernel finds in the L2 cache
  double kernel_us = 2.0;         // of a kernel that does nothing
  double launch_us = 6.0;         // of the host, per kernel in eager PyTorch
};
// As measured on the H200.
const KernelEfficiency& MeasuredEfficiency();

struct DeviceRates {
  double flops_per_us = 0, bytes_per_us = 0;  // at the peak
  double sm_count = 0;                        // 0: not known, a product is never short of work
  KernelEfficiency efficiency;
};
// Unsupported when the device has no peak for the dtype or no bandwidth.
Result<DeviceRates> RatesOf(const Peaks& peaks, const std::string& dtype);

enum class KernelBound : uint8_t { kCompute, kMemory, kLaunch };
std::span<const std::string_view> NamesOf(KernelBound);

struct KernelTime {
  double compute_us = 0, memory_us = 0;  // of one execution
  double us = 0;                         // with the floor
  KernelBound bound = KernelBound::kLaunch;
};
KernelTime TimeOf(const PlanKernel& kernel, const DeviceRates& device);

// One number that a prediction rests on.
struct Assumption {
  std::string name;
  double value = 0;
  std::string meaning, source;
};
void Describe(Record<Assumption>& r);
std::vector<Assumption> AssumptionsOf(const KernelEfficiency& efficiency, bool measured_device);

}  // namespace nl
