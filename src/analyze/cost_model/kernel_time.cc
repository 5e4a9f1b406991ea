// SPDX-License-Identifier: Apache-2.0
#include "analyze/cost_model/kernel_time.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace nl {

namespace {

// Tiles of a product that libraries choose from, with what each reaches of a full one.
struct Tile {
  double rows, columns, share;
};
constexpr Tile kTiles[] = {{128, 256, 1.0}, {128, 128, 0.93}, {64, 128, 0.75}, {64, 64, 0.5}};
constexpr double kLeastSplit = 512;  // of the inner dimension, below which splitting it gains nothing

// Time at which the tiles are through, in waves over all multiprocessors.
double ProductUs(const PlanKernel& k, double share, const DeviceRates& d) {
  if (d.sm_count <= 0) return k.flops / (d.flops_per_us * share);
  double best = INFINITY;
  for (const Tile& tile : kTiles) {
    const double tiles = k.groups * std::ceil(k.m / tile.rows) * std::ceil(k.n / tile.columns);
    const double splits = std::clamp(std::floor(d.sm_count / tiles), 1.0, std::max(1.0, k.k / kLeastSplit));
    const double waves = std::ceil(tiles * splits / d.sm_count);
    const double tile_flops = 2 * tile.rows * tile.columns * k.k / splits;
    best = std::min(best, waves * tile_flops / (d.flops_per_us / d.sm_count * share * tile.share));
  }
  return best;
}

// Attention works on blocks of query rows of one head.
double AttentionUs(const PlanKernel& k, const DeviceRates& d) {
  constexpr double kRows = 128;
  const double share = d.efficiency.attention_share;
  if (d.sm_count <= 0) return k.flops / (d.flops_per_us * share);
  const double blocks = k.groups * std::ceil(k.m / kRows);
  const double filled = blocks / (std::ceil(blocks / d.sm_count) * d.sm_count);
  const double used_rows = k.m / (std::ceil(k.m / kRows) * kRows);
  return k.flops / (d.flops_per_us * share * filled * used_rows);
}

double MemoryUs(const PlanKernel& k, const DeviceRates& d) {
  const KernelEfficiency& e = d.efficiency;
  const double bytes = k.read_bytes + k.write_bytes;
  const double cached = std::min(bytes, std::max(0.0, 2 * e.cache_bytes - bytes));
  return (cached / e.cached_share + (bytes - cached) / e.bandwidth_share) / d.bytes_per_us;
}

}  // namespace

const KernelEfficiency& MeasuredEfficiency() {
  static const KernelEfficiency measured;
  return measured;
}

Result<DeviceRates> RatesOf(const Peaks& peaks, const std::string& dtype) {
  // Products of fp32 run on the vector units unless TF32 is allowed, which PyTorch does not by default.
  const std::optional<double> tflops = peaks.TflopsFor(dtype);
  if (!tflops || !peaks.dram_gbps)
    return Unsupported(fmt::format("{} has no known {}", peaks.device,
                                   tflops ? "memory bandwidth" : "peak for " + dtype))
        .Hint("give it with --peaks, such as --peaks bf16_tflops=989,peak_dram_gbps=4800");
  DeviceRates out;
  out.flops_per_us = *tflops * 1e6;
  out.bytes_per_us = *peaks.dram_gbps * 1e3;
  out.sm_count = static_cast<double>(peaks.sm_count.value_or(0));
  out.efficiency = MeasuredEfficiency();
  return out;
}

std::span<const std::string_view> NamesOf(KernelBound) {
  static constexpr std::array<std::string_view, 3> kNames = {"compute", "memory", "launch"};
  return kNames;
}

KernelTime TimeOf(const PlanKernel& k, const DeviceRates& d) {
  const KernelEfficiency& e = d.efficiency;
  KernelTime out;
  out.memory_us = MemoryUs(k, d);
  switch (k.kind) {
    case KernelKind::kGemm: out.compute_us = ProductUs(k, e.gemm_share, d); break;
    case KernelKind::kConvolution: out.compute_us = ProductUs(k, e.convolution_share, d); break;
    case KernelKind::kAttention: out.compute_us = AttentionUs(k, d); break;
    case KernelKind::kMemory: break;  // its arithmetic hides behind its traffic
  }
  const double work_us = std::max(out.compute_us, out.memory_us);
  out.us = e.kernel_us + work_us;
  out.bound = work_us < e.kernel_us               ? KernelBound::kLaunch
              : out.compute_us >= out.memory_us ? KernelBound::kCompute
                                                : KernelBound::kMemory;
  return out;
}

void Describe(Record<Assumption>& r) {
  r.Name("PredictAssumption", "One number that the prediction rests on");
  r.Field("name", &Assumption::name, "Name");
  r.Field("value", &Assumption::value, "Value");
  r.Field("meaning", &Assumption::meaning, "What it is");
  r.Field("source", &Assumption::source, "Where it comes from");
}

std::vector<Assumption> AssumptionsOf(const KernelEfficiency& e, bool measured_device) {
  const std::string source =
      measured_device ? "assumed, not measured yet" : "assumed for the H200, not measured on this device";
  const auto make = [&source](const char* name, double value, const char* meaning) {
    return Assumption{name, value, meaning, source};
  };
  return {make("gemm_share", e.gemm_share, "share of the matrix peak that a large product reaches"),
          make("attention_share", e.attention_share, "share of the matrix peak that fused attention reaches"),
          make("convolution_share", e.convolution_share, "share of the matrix peak that a convolution reaches"),
          make("bandwidth_share", e.bandwidth_share, "share of the DRAM bandwidth that a large kernel reaches"),
          make("cached_share", e.cached_share, "the same for data in the L2 cache, of the DRAM bandwidth"),
          make("cache_bytes", e.cache_bytes, "bytes that a kernel finds in the L2 cache"),
          make("kernel_us", e.kernel_us, "time of a kernel that does nothing, µs"),
          make("launch_us", e.launch_us, "host time per kernel in eager PyTorch, µs")};
}

}  // namespace nl
