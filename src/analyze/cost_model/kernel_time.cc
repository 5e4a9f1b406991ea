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
constexpr Tile kTiles[] = {{128, 256, 1.0},  {256, 128, 1.0}, {128, 192, 0.97},
                           {128, 128, 0.95}, {64, 128, 0.8},  {64, 64, 0.5}};
constexpr double kMeasuredSmCount = 132;  // of the H200
constexpr double kLeastSplit = 512;       // of the inner dimension, below which splitting it gains nothing

// Time at which the tiles are through, in waves over all multiprocessors.
double ProductUs(const PlanKernel& k, double share, const DeviceRates& d) {
  if (d.sm_count <= 0) return k.flops / (d.flops_per_us * share);
  double best = INFINITY;
  for (const Tile& tile : kTiles) {
    const double tiles = k.groups * std::ceil(k.m / tile.rows) * std::ceil(k.n / tile.columns);
    const double splits = std::clamp(std::floor(d.sm_count / tiles), 1.0, std::max(1.0, k.k / kLeastSplit));
    const double waves = std::ceil(tiles * splits / d.sm_count);
    const double tile_flops = 2 * tile.rows * tile.columns * k.k / splits;
    const double tile_us = tile_flops / (d.flops_per_us / d.sm_count * share * tile.share);
    best = std::min(best, waves * (tile_us + d.efficiency.wave_us));
  }
  return best;
}

// Attention works on blocks of 128 queries of one head, each through its blocks of 128 keys. Widths are
// padded to a power of two; a block on the diagonal of a causal mask costs as a whole one.
double AttentionUs(const PlanKernel& k, const DeviceRates& d) {
  constexpr double kBlock = 128, kCausal = 1.15;
  const KernelEfficiency& e = d.efficiency;
  const double share = k.k >= 128 - 63 ? e.attention_share : e.narrow_share;
  const double width = std::exp2(std::ceil(std::log2(std::max(k.k, 32.0))));
  const double sm_count = d.sm_count > 0 ? d.sm_count : kMeasuredSmCount;
  const double query_blocks = std::ceil(k.m / kBlock), keys = std::ceil(k.n / kBlock);
  const double seen = k.causal ? kCausal * (keys + 1) / 2 : keys;
  const double block_us =
      e.block_us + seen * 4 * kBlock * kBlock * width / (d.flops_per_us / sm_count * share);
  return std::ceil(k.groups * query_blocks / sm_count) * block_us;
}

double ElementUs(const PlanKernel& k, const DeviceRates& d) {
  const KernelEfficiency& e = d.efficiency;
  const double rate = k.kind == KernelKind::kStrided      ? e.strided_rate
                      : k.kind == KernelKind::kTransposed ? e.transposed_rate
                      : k.kind == KernelKind::kLayout     ? e.layout_rate
                      : k.kind == KernelKind::kNorm       ? e.norm_rate
                      : k.kind == KernelKind::kGelu       ? e.gelu_rate
                                                          : e.moments_rate;
  const double rows_us = k.kind == KernelKind::kNorm ? k.m * e.norm_row_us : 0;
  return k.elements / (rate * (d.sm_count > 0 ? d.sm_count : kMeasuredSmCount)) + rows_us;
}

bool IsUnaligned(const PlanKernel& k) {
  return k.kind == KernelKind::kGemm && (std::fmod(k.n, 8) != 0 || std::fmod(k.k, 8) != 0);
}

double MemoryUs(const PlanKernel& k, const DeviceRates& d) {
  const KernelEfficiency& e = d.efficiency;
  const double bytes = k.read_bytes + k.write_bytes;
  if (IsUnaligned(k)) return bytes / e.unaligned_share / d.bytes_per_us;
  const double cached = std::min(bytes, std::max(0.0, 2 * e.cache_bytes - bytes));
  const double us = (cached / e.cached_share + (bytes - cached) / e.bandwidth_share) / d.bytes_per_us;
  return k.kind == KernelKind::kGemm ? us + e.small_gemm_us : us;
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
    default: out.memory_us = std::max(out.memory_us, ElementUs(k, d)); break;
  }
  const double work_us = std::max(out.compute_us, out.memory_us);
  out.us = e.kernel_us + work_us;
  out.bound = work_us < e.kernel_us             ? KernelBound::kLaunch
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
  const std::string source = measured_device ? "measured on an H200 (docs/models.md)"
                                             : "assumed: measured on an H200, not on this device";
  const auto make = [&source](const char* name, double value, const char* meaning) {
    return Assumption{name, value, meaning, source};
  };
  // Not measured by themselves: values with which traces of whole models come out right.
  const std::string fitted = measured_device ? "chosen to fit traces of an H200 (docs/models.md)"
                                             : "assumed: chosen to fit traces of an H200, not of this device";
  const auto chosen = [&fitted](const char* name, double value, const char* meaning) {
    return Assumption{name, value, meaning, fitted};
  };
  return {
      make("gemm_share", e.gemm_share, "share of the matrix peak inside a wave of tiles of a product"),
      make("wave_us", e.wave_us, "to begin and end a wave of tiles, µs"),
      make("attention_share", e.attention_share, "share of the matrix peak inside fused attention"),
      make("narrow_share", e.narrow_share, "the same for heads of at most 64"),
      make("block_us", e.block_us, "to begin and end a block of queries in attention, µs"),
      chosen("convolution_share", e.convolution_share, "share of the matrix peak inside a convolution"),
      make("bandwidth_share", e.bandwidth_share, "share of the DRAM bandwidth that a large kernel reaches"),
      chosen("cached_share", e.cached_share, "the same for data in the L2 cache, of the DRAM bandwidth"),
      chosen("cache_bytes", e.cache_bytes, "bytes that a kernel finds in the L2 cache"),
      make("small_gemm_us", e.small_gemm_us, "of a product that memory limits, besides its traffic, µs"),
      make("unaligned_share", e.unaligned_share,
           "share of the DRAM bandwidth where 8 does not divide a size"),
      make("strided_rate", e.strided_rate, "elements per SM and µs: broadcasting, casts, slices"),
      make("transposed_rate", e.transposed_rate, "elements per SM and µs: different layouts, torch.cat"),
      make("layout_rate", e.layout_rate, "elements per SM and µs: NCHW to NHWC and back"),
      make("norm_rate", e.norm_rate, "elements per SM and µs: layer norm"),
      make("norm_row_us", e.norm_row_us, "of a layer norm per row, µs"),
      make("gelu_rate", e.gelu_rate, "elements per SM and µs: GELU"),
      make("moments_rate", e.moments_rate, "elements per SM and µs: moments of a group norm"),
      make("kernel_us", e.kernel_us, "time of a kernel that does nothing, µs"),
      make("launch_us", e.launch_us, "host time per kernel in eager PyTorch, µs")};
}

}  // namespace nl
