// SPDX-License-Identifier: Apache-2.0
// The roofline facts as reports and `neurolens roofline` give them.
#include <algorithm>
#include <array>

#include "analyze/facts/roofline.h"
#include "base/units.h"
#include "model/kernel_name.h"

namespace nl {

std::span<const std::string_view> NamesOf(RooflineBound) {
  static constexpr std::array<std::string_view, 2> kNames = {"compute", "memory"};
  return kNames;
}

std::span<const std::string_view> NamesOf(TypeSource) {
  static constexpr std::array<std::string_view, 2> kNames = {"recorded", "kernel name"};
  return kNames;
}

std::span<const std::string_view> NamesOf(CostSource) {
  static constexpr std::array<std::string_view, 2> kNames = {"shapes", "counters"};
  return kNames;
}

void Describe(Record<RooflineRow>& r) {
  using T = RooflineRow;
  r.Name("RooflinePoint", "What one operator or kernel achieved");
  r.Field("op", &T::op, "Operator; null when several launch the kernel");
  r.Field("shapes", &T::shapes, "Input shapes as recorded");
  r.Field("types", &T::types, "Input types as recorded");
  r.Field("kernel", &T::kernel, "Short name of the kernel; null when there are several");
  r.Field("raw_name", &T::raw_name, "Name of the kernel as recorded");
  r.Field("device", &T::device, "Device number");
  r.Field("calls", &T::calls, "Calls of the operator, or executions of the kernel");
  r.Field("dtype", &T::dtype, "Type whose peak is used");
  r.Field("types_from", &T::types_from, "Where the types of the inputs stand; null when they are not known");
  r.Field("flops", &T::flops, Unit::kFlops, "Floating-point operations of all calls");
  r.Field("bytes", &T::bytes, Unit::kBytes, "Bytes moved by all calls");
  r.Field("ai", &T::ai, Unit::kRatio, "Arithmetic intensity: FLOPs per byte");
  r.Field("tflops", &T::tflops, Unit::kTflops, "Achieved compute rate");
  r.Field("gbps", &T::gbps, Unit::kGbPerS, "Achieved memory rate");
  r.Field("t_roof_ms", &T::t_roof_ms, Unit::kMs, "Shortest time that the peaks allow");
  r.Field("t_measured_ms", &T::t_measured_ms, Unit::kMs, "Device time of all calls");
  r.Field("efficiency", &T::efficiency, Unit::kShare,
          "t_roof_ms divided by t_measured_ms; relative to `peaks`");
  r.Field("efficiency_measured", &T::efficiency_measured, Unit::kShare,
          "The same relative to `measured_peaks`; null without them");
  r.Field("bound", &T::bound, "Peak that limits it");
  r.Field("source", &T::source, "What FLOPs and bytes were taken from");
  r.Field("reason", &T::reason, "Why a value above is null");
}

void Describe(Record<RooflinePeaks>& r) {
  r.Name("RooflinePeaks", "Peaks of one device of the run");
  r.Field("index", &RooflinePeaks::index, "Device number");
  r.Base<Peaks>();
}

void Describe(Record<RooflineSection>& r) {
  using T = RooflineSection;
  r.Name("RooflineSection", "How close operators and kernels come to the peaks of the device");
  r.Field("points", &T::points, "Operators by input shapes, most device time first");
  r.Field("points_total", &T::points_total, "Points before the limit");
  r.Field("kernels", &T::kernels, "Kernels, most device time first");
  r.Field("kernels_total", &T::kernels_total, "Kernels before the limit");
  r.Field("counted", &T::counted, "Kernels with hardware counters, by what was measured");
  r.Field("counted_total", &T::counted_total, "Kernels with hardware counters before the limit");
  r.Field("counted_ms", &T::counted_ms, Unit::kMs, "Device time of executions with hardware counters");
  r.Field("device_ms", &T::device_ms, Unit::kMs, "Device time of all kernels");
  r.Field("assessed_ms", &T::assessed_ms, Unit::kMs, "Device time of the points whose efficiency is known");
  r.Field("peaks", &T::peaks, "Peaks of each device, where known");
  r.Field("measured_peaks", &T::measured_peaks,
          "Measured peaks of each device, where `neurolens peaks measure` has measured one with its name");
  r.Field("peaks_reason", &T::peaks_reason, "Why a device has no peaks");
}

namespace passes::roofline {

namespace {

std::optional<std::string> TextOf(StringId id, const RunData& data) {
  return IsNull(id) ? std::nullopt : std::optional<std::string>(data.Text(id));
}
std::optional<std::string> NotEmpty(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional<std::string>(text);
}

RooflineRow RowOf(const RooflinePoint& p, const RunData& data) {
  RooflineRow out;
  out.op = TextOf(p.op, data);
  out.shapes = TextOf(p.dims, data);
  out.types = TextOf(p.types, data);
  if (!IsNull(p.kernel)) out.kernel = ParseKernelName(data.Text(p.kernel)).short_name;
  out.raw_name = TextOf(p.kernel, data);
  out.device = Known(p.device);
  out.calls = p.calls;
  out.dtype = NotEmpty(p.dtype);
  if (p.type_from_kernel) {
    out.types_from = TypeSource::kKernelName;
  } else if (!IsNull(p.types)) {
    out.types_from = TypeSource::kRecorded;
  }
  out.flops = p.flops;
  out.bytes = p.bytes;
  out.ai = p.Ai();
  out.tflops = p.Tflops();
  out.gbps = p.Gbps();
  if (p.roof_ns) out.t_roof_ms = *p.roof_ns / 1e6;
  out.t_measured_ms = Ms(p.measured_ns);
  out.efficiency = p.Efficiency();
  out.efficiency_measured = p.MeasuredEfficiency();
  out.bound = p.bound;
  if (p.counted) {
    out.source = CostSource::kCounters;
  } else if (p.flops || p.bytes) {
    out.source = CostSource::kShapes;
  }
  out.reason = NotEmpty(p.reason);
  return out;
}

std::vector<RooflineRow> RowsOf(const std::vector<RooflinePoint>& points, const RunData& data, size_t limit) {
  std::vector<RooflineRow> out;
  for (size_t i = 0; i < std::min(limit, points.size()); ++i) out.push_back(RowOf(points[i], data));
  return out;
}

std::vector<RooflinePeaks> PeaksOfAll(const std::map<int32_t, Peaks>& by_device) {
  std::vector<RooflinePeaks> out;
  for (const auto& [device, peaks] : by_device) {
    RooflinePeaks row;
    static_cast<Peaks&>(row) = peaks;
    row.index = Known(device);
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace

}  // namespace passes::roofline

RooflineSection SectionOf(const RooflineFacts& facts, const RunData& data, size_t limit) {
  RooflineSection out;
  out.points = passes::roofline::RowsOf(facts.points, data, limit);
  out.points_total = static_cast<int64_t>(facts.points.size());
  out.kernels = passes::roofline::RowsOf(facts.kernels, data, limit);
  out.kernels_total = static_cast<int64_t>(facts.kernels.size());
  out.counted = passes::roofline::RowsOf(facts.counted, data, limit);
  out.counted_total = static_cast<int64_t>(facts.counted.size());
  out.counted_ms = Ms(facts.counted_ns);
  out.device_ms = Ms(facts.device_ns);
  out.assessed_ms = Ms(facts.assessed_ns);
  out.peaks = passes::roofline::PeaksOfAll(facts.peaks);
  out.measured_peaks = passes::roofline::PeaksOfAll(facts.measured_peaks);
  out.peaks_reason = passes::roofline::NotEmpty(facts.peaks_reason);
  return out;
}

}  // namespace nl
