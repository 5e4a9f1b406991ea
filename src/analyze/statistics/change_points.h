// SPDX-License-Identifier: Apache-2.0
#pragma once
// Change points of a metric over a history of runs: where its level changed permanently, not
// where one run was an outlier. Hierarchical like E-divisive with means: the strongest split
// of a range, over nested intervals so that a rise followed by a fall is found too, is tested
// by permuting the range; significant parts are split further. Each point must then remain
// significant between its neighbours. Correlated runs are permuted in blocks, whose length is
// estimated from the noise.
// Deterministic for a seed. O(n log n) per permutation.
// Thread rule: pure functions.

#include <cstdint>
#include <span>
#include <vector>

#include "analyze/statistics/stats.h"

namespace nl {

struct ChangePointOptions {
  double alpha = 0.01;     // of one test
  int64_t least_runs = 3;  // on each side of a point
  int permutations = 999;
  uint64_t seed = kStatsSeed;
};

struct ChangePoint {
  int64_t index = 0;  // first run of the new level
  double p_value = 1;
  double before_median = 0, after_median = 0;  // up to the neighbouring change points
  double change = 0;                           // after/before - 1; NaN when before is zero
};

// In order of index. Values that are not finite are skipped, but indexes count them. Of more than
// 2,000 values only the last 2,000 are used.
std::vector<ChangePoint> FindChangePoints(std::span<const double> values,
                                          const ChangePointOptions& options = {});

}  // namespace nl
