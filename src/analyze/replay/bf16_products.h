// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bf16Products: what the fp32 matrix products, convolutions and attention kernels of the steady steps would
// take in bf16: FLOPs at the bf16 peak or half of the bytes at the bandwidth, whichever is longer, at the
// share of the roofline that good kernels reach. Only products whose shapes were recorded; nothing is assumed
// for the others.
// Thread rule: pure functions. Ownership: plain values.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyze/facts/roofline.h"
#include "analyze/replay/step_replay.h"

namespace nl::replay {

struct WorkLimit {
  uint32_t work = 0;   // position in DeviceWork
  double most_ns = 0;  // that it would take
};

struct Bf16Products {
  std::vector<WorkLimit> limits;  // kernels that would be faster
  int64_t fp32 = 0;               // kernels of fp32 products with a known cost
  int64_t unknown = 0;            // kernels of products whose type or work is not known
  std::string reason;             // why a known product has no limit; empty when all have
};

// Share of its time that a product takes in bf16; none where the device's peaks are not known (`reason`:
// why).
std::optional<double> Bf16Left(const RooflinePoint& point, const RooflineFacts& roofline,
                               std::string* reason = nullptr);

// Of products inside operators that `name` matches (* and ? are wildcards); empty: of all.
Bf16Products FindBf16Products(const StepReplay& steps, const RooflineFacts& roofline,
                              const std::string& name);

}  // namespace nl::replay
