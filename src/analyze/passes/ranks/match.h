// SPDX-License-Identifier: Apache-2.0
#pragma once
// The two steps of the ranks pass: which calls of different members are one collective, and how far
// the members' clocks are apart.
// Thread rule: pure functions.

#include "analyze/facts/ranks.h"
#include "analyze/run_data.h"

namespace nl {

// Fills members, groups, collectives (without skew) and unmatched.
void MatchCollectives(const TimelineFacts& timeline, const RunData& data, RanksFacts& out);

// Fills the members' offsets and decides where they are applied.
void EstimateClocks(RanksFacts& facts);

}  // namespace nl
