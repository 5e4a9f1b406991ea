// SPDX-License-Identifier: Apache-2.0
// What a 16-bit type would leave of products without tensor cores, and of the rest of a model that changes
// its type.
#include <algorithm>

#include "analyze/features/parts.h"
#include "analyze/replay/bf16_products.h"
#include "base/has_any.h"

namespace nl::features {

namespace {

using F = KernelFamily;

// Where no shapes were recorded: by the peaks of the device, as large products reach them.
double LeftByPeaks(const Peaks& peaks) {
  constexpr double kUnknown = 0.25, kReachedFp32 = 0.8, kReachedHalf = 0.6;
  const auto half = peaks.bf16_tflops ? peaks.bf16_tflops : peaks.fp16_tflops;
  if (!peaks.fp32_tflops || !half || *half <= 0) return kUnknown;
  return std::min(1.0, kReachedFp32 * *peaks.fp32_tflops / (kReachedHalf * *half));
}

// Of the products whose shapes are known, together; none where there are none.
std::optional<double> LeftByShapes(const RooflineFacts& roofline) {
  double now_ns = 0, then_ns = 0;
  for (const RooflinePoint& point : roofline.points) {
    if (!point.matrix || point.dtype != "fp32" || !point.flops || !point.bytes) continue;
    const std::optional<double> left = replay::Bf16Left(point, roofline);
    if (!left) continue;
    now_ns += static_cast<double>(point.measured_ns);
    then_ns += *left * static_cast<double>(point.measured_ns);
  }
  if (now_ns <= 0) return std::nullopt;
  return then_ns / now_ns;
}

// The part of its time that a kernel in fp32, other than a product, still takes once the whole model runs in
// 16 bits: attention gets tensor cores, and what moves data moves half as much.
double LeftOf(const KernelName& kernel) {
  constexpr double kAttention = 0.15, kMoving = 0.5;
  if (KernelDtype(kernel.short_name) != "fp32") return 1;
  switch (kernel.family) {
    case F::kAttention: return kAttention;
    case F::kElementwise:
    case F::kNorm:
    case F::kSoftmax:
    case F::kReduction: return kMoving;
    default: return 1;
  }
}

}  // namespace

void AddTensorCores(const RooflineFacts& roofline, const TimelineFacts& timeline, Features& out) {
  auto& n = out.run.numbers;
  n["run.has_bf16"] = roofline.peaks.empty() || roofline.peaks.begin()->second.bf16_tflops.has_value();
  double left = roofline.peaks.empty() ? 0.25 : LeftByPeaks(roofline.peaks.begin()->second);
  left = LeftByShapes(roofline).value_or(left);
  n["run.tensor_core_left"] = n["run.no_tensor_left"] = left;
  std::vector<uint32_t>& works = out.run.targets["no_tensor"].works;
  // Under autocast, which training needs, all else stays in fp32.
  const auto is = [&](const char* flag) { return out.run.Number(flag).value_or(0) != 0; };
  if (works.empty() || is("run.is_training") || !is("run.is_torch")) return;
  const DeviceWork& w = timeline.work;
  double now_ns = 0;
  for (const uint32_t work : works) now_ns += static_cast<double>(w.end_ns[work] - w.start_ns[work]);
  double then_ns = left * now_ns;
  constexpr double kUnknown = -1;
  std::vector<double> left_of;  // by name: names are read once
  for (uint32_t work = 0; work < w.size(); ++work) {
    if (w.kind[work] != WorkKind::kKernel || IsNull(w.name[work])) continue;
    const auto name = static_cast<size_t>(w.name[work]);
    if (name >= left_of.size()) left_of.resize(name + 1, kUnknown);
    if (left_of[name] == kUnknown) left_of[name] = LeftOf(timeline.KernelNameOf(w.name[work]));
    const double of = left_of[name];
    if (of == 1) continue;
    works.push_back(work);
    const auto ns = static_cast<double>(w.end_ns[work] - w.start_ns[work]);
    now_ns += ns;
    then_ns += of * ns;
  }
  if (now_ns > 0) n["run.no_tensor_left"] = then_ns / now_ns;
}

}  // namespace nl::features
