// SPDX-License-Identifier: Apache-2.0
#pragma once
// Change points of a metric over a history of runs: where its level moved for good, not
// where one run was odd. Hierarchical like E-divisive with means: the strongest split of
// a stretch, over nested intervals so that a rise that was undone again is seen too, is
// tested by permuting the stretch; what is significant is split further. Each found point
// must then hold between its neighbours. Runs that drift are permuted in blocks, whose
// length comes from the noise.
// Deterministic: the seed gives the permutations. O(n log n) per permutation.
// Thread rule: pure functions.

#include <cstdint>
#include <span>
#include <vector>

#include "analyze/statistics/stats.h"

namespace nl {

struct ChangePointOptions {
  double alpha = 0.01;     // of one test; the tests of a history are few and nested
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

// In order of index. Values that are not finite are passed over; indexes count them. More than
// 2,000 values: the last 2,000.
std::vector<ChangePoint> FindChangePoints(std::span<const double> values,
                                          const ChangePointOptions& options = {});

}  // namespace nl
