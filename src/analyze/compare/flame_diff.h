// SPDX-License-Identifier: Apache-2.0
#pragma once
// The flame graphs of two runs laid over each other: calls merged by path of names, the
// time of both runs on every frame. Frames below a share of the larger run are left out;
// their time stays in the frames above.
// Thread rule: as Analysis, one thread.

#include "analyze/analysis.h"
#include "base/json.h"

namespace nl {

inline constexpr double kLeastFlameShare = 0.001;

// {device, host: {name, a_ms, b_ms, children[]}}: inclusive times, those that differ most
// first; null where neither run has any such time.
Result<Json> FlameDiffJson(Analysis& a, Analysis& b, double least_share = kLeastFlameShare);

}  // namespace nl
