// SPDX-License-Identifier: Apache-2.0
#pragma once
// The flame graphs of two runs merged into one: calls are merged by path of names, and every
// frame has the time of both runs. Frames below a share of the larger run are left out;
// their time remains in the frames above them.
// Thread rule: as Analysis, one thread.

#include <optional>
#include <string>
#include <vector>

#include "analyze/analysis.h"
#include "base/record.h"

namespace nl {

inline constexpr double kLeastFlameShare = 0.001;

struct FlameDiffFrame {
  std::string name;
  double a_ms = 0, b_ms = 0;             // inclusive
  std::vector<FlameDiffFrame> children;  // largest difference first
};
struct FlameDiff {
  std::optional<FlameDiffFrame> device, host;  // null: neither run has such time
};
void Describe(Record<FlameDiffFrame>& r);
void Describe(Record<FlameDiff>& r);

Result<FlameDiff> DiffFlames(Analysis& a, Analysis& b, double least_share = kLeastFlameShare);

}  // namespace nl
