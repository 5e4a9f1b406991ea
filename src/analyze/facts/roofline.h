// SPDX-License-Identifier: Apache-2.0
#pragma once
// RooflineFacts: what each op and kernel achieved, against what its device can do. A
// point is one op with one set of input shapes; its time is that of the kernels the op
// launched itself, so an op that only calls others has no point and nothing counts twice.
// Made by passes/roofline. What has no formula or no peak is null, with the reason.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/cost_model/peaks.h"
#include "analyze/run_data.h"
#include "base/json.h"

namespace nl {

struct RooflinePoint {
  StringId op = StringId::kNull, dims = StringId::kNull, types = StringId::kNull;
  StringId kernel = StringId::kNull;  // as the source spells it; null: several kernels
  int32_t device = NullOf<int32_t>::value;
  int64_t calls = 0;
  int64_t kernels = 0;                 // executions
  int64_t measured_ns = 0;             // device time of all calls
  std::optional<double> flops, bytes;  // of all calls
  std::string dtype;                   // whose peak is taken; empty: unknown
  std::optional<double> roof_ns;       // of all calls
  std::string bound;                   // compute or memory; empty: unknown
  std::string reason;                  // why something above is unknown
  bool counted = false;                // flops and bytes were measured, not told by shapes

  std::optional<double> Ai() const;  // FLOPs per byte
  std::optional<double> Tflops() const;
  std::optional<double> Gbps() const;
  std::optional<double> Efficiency() const;
};

struct RooflineFacts {
  static constexpr const char* kName = "roofline";

  std::vector<RooflinePoint> points;   // by op and shapes, most device time first
  std::vector<RooflinePoint> kernels;  // by kernel name; op null when several ops launch it
  std::map<int32_t, Peaks> peaks;      // by device, where known
  std::string peaks_reason;            // why a device has none; empty when all have
  int64_t device_ns = 0;               // all kernels
  int64_t assessed_ns = 0;             // those of points with an efficiency
  // By kernel name, of the executions with counters alone: what they did and moved, and the
  // larger of their measured shares of peak.
  std::vector<RooflinePoint> counted;
  int64_t counted_ns = 0;
  static constexpr std::string_view kSource = "shapes", kCounted = "counters";
};

// With at most `limit` points and kernels.
Json ToJson(const RooflineFacts& facts, const RunData& data, size_t limit = 50);

}  // namespace nl
