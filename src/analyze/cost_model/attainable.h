// SPDX-License-Identifier: Apache-2.0
#pragma once
// What good kernels reach of the peaks of a device.
// Thread rule: pure functions.

#include <algorithm>
#include <cmath>

namespace nl {

// Share of its roofline that a kernel can reach, by its time at the peak. Short kernels do not get near a
// peak: filling and draining the device takes a few µs.
inline double AttainableShare(double roof_us) {
  constexpr double kOfPeak = 0.85, kFullRateUs = 30;
  return kOfPeak * std::min(1.0, std::sqrt(std::max(0.0, roof_us) / kFullRateUs));
}

}  // namespace nl
