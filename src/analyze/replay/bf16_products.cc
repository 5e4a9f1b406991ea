// SPDX-License-Identifier: Apache-2.0
#include "analyze/replay/bf16_products.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "analyze/cost_model/attainable.h"
#include "analyze/replay/fix_search.h"

namespace nl::replay {

namespace {

using PointKey = std::tuple<StringId, StringId, StringId, int32_t>;

StringId At(const ColumnView<StringId>& column, size_t row) {
  return row < column.size() ? column[row] : StringId::kNull;
}

bool IsFp32(std::string_view dtype) { return dtype == "fp32" || dtype == "tf32"; }

}  // namespace

std::optional<double> Bf16Left(const RooflinePoint& point, const RooflineFacts& roofline,
                               std::string* reason) {
  const auto at = roofline.peaks.find(point.device);
  if (at == roofline.peaks.end()) {
    if (reason != nullptr) *reason = roofline.peaks_reason;
    return std::nullopt;
  }
  const Peaks& peaks = at->second;
  if (!peaks.bf16_tflops || !peaks.dram_gbps || *peaks.bf16_tflops <= 0 || *peaks.dram_gbps <= 0) {
    if (reason != nullptr)
      *reason = fmt::format("no {} of {} is known; use --peaks",
                            peaks.dram_gbps ? "bf16 peak" : "memory bandwidth", peaks.device);
    return std::nullopt;
  }
  const double compute_ns = *point.flops / *peaks.bf16_tflops / 1e3;
  const double memory_ns = *point.bytes / 2 / *peaks.dram_gbps;
  const double roof_ns = std::max(compute_ns, memory_ns);
  const double reached =
      AttainableShare(roof_ns / 1e3 / static_cast<double>(std::max<int64_t>(1, point.kernels)));
  if (reached <= 0 || point.measured_ns <= 0) return 1;
  return std::min(1.0, roof_ns / reached / static_cast<double>(point.measured_ns));
}

Bf16Products FindBf16Products(const StepReplay& steps, const RooflineFacts& roofline,
                              const std::string& name) {
  using F = KernelFamily;
  const TimelineFacts& t = steps.timeline();
  const OpView& op = steps.data().op;
  std::map<PointKey, const RooflinePoint*> points;
  for (const RooflinePoint& p : roofline.points) points[{p.op, p.dims, p.types, p.device}] = &p;
  CallNames names(steps, name);
  Bf16Products out;
  for (const uint32_t work : steps.works()) {
    if (t.work.kind[work] != WorkKind::kKernel) continue;
    const uint32_t node = t.work.op[work];
    if (!name.empty() && (node == kNone || names.OutermostAround(node) == kNone)) continue;
    const RooflinePoint* point = nullptr;
    if (node != kNone) {
      const uint32_t row = t.host.row[node];
      const auto at = points.find({t.host.name[node], At(op.input_dims, row), At(op.input_types, row),
                                   t.devices[t.work.device[work]].device});
      if (at != points.end()) point = at->second;
    }
    if (point != nullptr && point->matrix && point->flops && point->bytes && !point->dtype.empty()) {
      if (!IsFp32(point->dtype)) continue;
      ++out.fp32;
      const std::optional<double> left = Bf16Left(*point, roofline, &out.reason);
      const auto now_ns = static_cast<double>(t.work.end_ns[work] - t.work.start_ns[work]);
      if (left && *left < 1) out.limits.push_back({work, *left * now_ns});
      continue;
    }
    const KernelName& kernel = t.KernelNameOf(t.work.name[work]);
    const std::string_view dtype = KernelDtype(kernel.short_name);
    const bool product =
        kernel.family == F::kGemm || kernel.family == F::kConv || kernel.family == F::kAttention;
    out.unknown += product && (dtype.empty() || IsFp32(dtype));
  }
  return out;
}

}  // namespace nl::replay
