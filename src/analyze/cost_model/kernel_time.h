// SPDX-License-Identifier: Apache-2.0
#pragma once
// How long a kernel of a ModelPlan takes on a device: the longer of its arithmetic and its traffic, at the
// shares of the datasheet peaks that such kernels reach, and never less than an empty kernel. The shares were
// measured on an H200 (bench/models/measure.py micro, docs/models.md); for other devices they are an
// assumption. Thread rule: pure functions.

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
  double gemm_share = 0.82;       // of the matrix peak, inside one wave of tiles
  double wave_us = 2.0;           // to begin and end a wave of tiles
  double attention_share = 0.72;  // of the matrix peak, inside fused attention with heads of 128 or wider
  double narrow_share = 0.52;     // the same with narrower heads
  double block_us = 2.0;          // to begin and end a block of queries
  double convolution_share = 0.6;
  double bandwidth_share = 0.87;  // of the DRAM bandwidth, in a kernel that moves much
  double cached_share = 1.2;      // of the DRAM bandwidth, where the data is still in the L2 cache
  double cache_bytes = 20e6;      // that a kernel finds in the L2 cache
  double small_gemm_us = 4.0;     // of a product that memory limits, besides its traffic
  double unaligned_share =
      0.17;  // of the DRAM bandwidth, in products with a dimension that 8 does not divide
  // Elements of kernels that elements limit, per multiprocessor and µs.
  double strided_rate = 2650, transposed_rate = 1170, layout_rate = 1800, norm_rate = 5150, gelu_rate = 5700,
         moments_rate = 1330;
  double norm_row_us = 0.0012;  // of a norm, per row
  double kernel_us = 1.3;       // of a kernel that does nothing
  double launch_us = 32;        // of the host, per kernel in eager transformers
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
