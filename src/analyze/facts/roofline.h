// SPDX-License-Identifier: Apache-2.0
#pragma once
// RooflineFacts: what each op and kernel achieved, against what its device can do. A
// point is one op with one set of input shapes; its time is that of the kernels the op
// launched itself, so an op that only calls others has no point and nothing counts twice.
// Made by passes/roofline. What has no formula or no peak is null, with the reason.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/cost_model/peaks.h"
#include "analyze/run_data.h"
#include "base/record.h"

namespace nl {

enum class RooflineBound : uint8_t { kCompute, kMemory };
std::span<const std::string_view> NamesOf(RooflineBound);
// What FLOPs and bytes were taken from.
enum class CostSource : uint8_t { kShapes, kCounters };
std::span<const std::string_view> NamesOf(CostSource);
enum class TypeSource : uint8_t { kRecorded, kKernelName };
std::span<const std::string_view> NamesOf(TypeSource);

struct RooflinePoint {
  StringId op = StringId::kNull, dims = StringId::kNull, types = StringId::kNull;
  StringId kernel = StringId::kNull;  // as the source spells it; null: several kernels
  int32_t device = NullOf<int32_t>::value;
  int64_t calls = 0;
  int64_t kernels = 0;                     // executions
  int64_t measured_ns = 0;                 // device time of all calls
  int64_t tf32_ns = 0;                     // of measured_ns, in kernels that are named so
  std::optional<double> flops, bytes;      // of all calls
  std::string dtype;                       // whose peak is taken; empty: unknown
  std::optional<double> roof_ns;           // of all calls
  std::optional<double> measured_roof_ns;  // the same by the measured peaks of the device, where known
  std::optional<RooflineBound> bound;      // empty: unknown
  std::string reason;                      // why something above is unknown
  bool matrix = false;                     // a matrix product, convolution or attention
  bool type_from_kernel = false;           // the types of its inputs were not recorded
  bool counted = false;                    // flops and bytes were measured, not computed from shapes

  std::optional<double> Ai() const;  // FLOPs per byte
  std::optional<double> Tflops() const;
  std::optional<double> Gbps() const;
  // Null above the peak, beyond what clocks and rounding explain: such a figure is wrong, not fast.
  std::optional<double> Efficiency() const;
  std::optional<double> MeasuredEfficiency() const;
  bool AbovePeak() const;
  static constexpr double kMostEfficiency = 1.02;
};

struct RooflineFacts {
  static constexpr const char* kName = "roofline";

  std::vector<RooflinePoint> points;        // by op and shapes, most device time first
  std::vector<RooflinePoint> kernels;       // by kernel name; op null when several ops launch it
  std::map<int32_t, Peaks> peaks;           // by device, where known
  std::map<int32_t, Peaks> measured_peaks;  // the same, of devices that were measured
  std::string peaks_reason;                 // why a device has none; empty when all have
  int64_t device_ns = 0;                    // all kernels
  int64_t assessed_ns = 0;                  // those of points with an efficiency
  // By kernel name, of the executions with counters alone: what they did and moved, and the
  // larger of their measured shares of peak.
  std::vector<RooflinePoint> counted;
  int64_t counted_ns = 0;
};

// The facts as reports and `neurolens roofline` give them.
struct RooflineRow {
  std::optional<std::string> op, shapes, types, kernel, raw_name;
  std::optional<int32_t> device;
  int64_t calls = 0;
  std::optional<std::string> dtype;
  std::optional<TypeSource> types_from;
  std::optional<double> flops, bytes, ai, tflops, gbps, t_roof_ms;
  double t_measured_ms = 0;
  std::optional<double> efficiency, efficiency_measured;
  std::optional<RooflineBound> bound;
  std::optional<CostSource> source;
  std::optional<std::string> reason;
};
struct RooflinePeaks : Peaks {
  std::optional<int32_t> index;
};
struct RooflineSection {
  std::vector<RooflineRow> points;
  int64_t points_total = 0;
  std::vector<RooflineRow> kernels;
  int64_t kernels_total = 0;
  std::vector<RooflineRow> counted;
  int64_t counted_total = 0;
  double counted_ms = 0, device_ms = 0, assessed_ms = 0;
  std::vector<RooflinePeaks> peaks, measured_peaks;
  std::optional<std::string> peaks_reason;
};
void Describe(Record<RooflineRow>& r);
void Describe(Record<RooflinePeaks>& r);
void Describe(Record<RooflineSection>& r);

// With at most `limit` rows in each list.
RooflineSection SectionOf(const RooflineFacts& facts, const RunData& data, size_t limit = 50);

}  // namespace nl
