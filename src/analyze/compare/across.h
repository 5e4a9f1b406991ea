// SPDX-License-Identifier: Apache-2.0
#pragma once
// Two runs on different devices, with different software or recorded by different tools: device time by
// operator and by kernel family on both sides, the ratio, and which side is nearer to what its device can
// do. Times are sums of durations, as `neurolens operators` and `roofline` give them, divided by the number
// of devices that ran kernels.
// Thread rule: pure functions. Ownership: plain values.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/analysis.h"
#include "analyze/facts/timeline.h"
#include "base/record.h"

namespace nl {

enum class NearerRoofline : uint8_t { kA, kB, kSame };
std::span<const std::string_view> NamesOf(NearerRoofline);

// One operator or kernel family. Null: the side does not have it, or it is unknown.
struct AcrossRow {
  std::string name;                                  // in A; in B where A does not have it
  std::optional<std::string> name_b;                 // in B, where it is spelled differently
  std::optional<int64_t> calls_a, calls_b;           // executions of kernels of a family
  std::optional<double> a_ms, b_ms;                  // device time
  std::optional<double> ratio;                       // b_ms / a_ms
  std::optional<double> efficiency_a, efficiency_b;  // roofline time / measured time, of what is assessed
  std::optional<NearerRoofline> nearer;
  std::optional<std::string> reason;  // why an efficiency is unknown
};

struct AcrossSetups {
  std::string setup_a, setup_b;                // device, else what else differs: "NVIDIA H100 80GB HBM3"
  int64_t devices_a = 0, devices_b = 0;        // that ran kernels
  double device_a_ms = 0, device_b_ms = 0;     // busy time of the mean device, overlap counted once
  std::optional<double> ratio;                 // device_b_ms / device_a_ms
  std::vector<AcrossRow> operators, families;  // most device time first
};
void Describe(Record<AcrossRow>& r);
void Describe(Record<AcrossSetups>& r);

namespace compare {

int64_t DevicesWithKernels(const TimelineFacts& timeline);

// A run without device work gives empty tables.
Result<AcrossSetups> CompareAcross(Analysis& a, Analysis& b);

}  // namespace compare

}  // namespace nl
