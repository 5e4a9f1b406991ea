// SPDX-License-Identifier: Apache-2.0
#pragma once
// Unit: what a number of a described struct is of. The name of a member carries it too (dur_ms, bytes).

#include <cstdint>

namespace nl {

enum class Unit : uint8_t {
  kNone,
  kNs,
  kUs,
  kMs,
  kSeconds,
  kBytes,
  kShare,    // 0 to 1
  kPercent,  // 0 to 100
  kMhz,
  kGbPerS,
  kTflops,
  kFlops,
  kTokens,
  kTokensPerS,
  kWatt,
  kRatio,
};

}  // namespace nl
