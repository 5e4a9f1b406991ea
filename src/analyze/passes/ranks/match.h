// SPDX-License-Identifier: Apache-2.0
#pragma once
// The two steps of the ranks pass: matching the calls of different members to collectives, and
// estimating the offsets between the clocks of members.
// Thread rule: pure functions.

#include "analyze/facts/ranks.h"
#include "analyze/run_data.h"

namespace nl {

// Fills members, groups, collectives (without skew) and unmatched.
void MatchCollectives(const TimelineFacts& timeline, const RunData& data, RanksFacts& out);

// Fills the members' offsets and decides where they are applied.
void EstimateClocks(RanksFacts& facts);

}  // namespace nl
