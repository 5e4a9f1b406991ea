// SPDX-License-Identifier: Apache-2.0
#pragma once
// The two steps of the ranks pass: matching the calls of different members to collectives, and
// estimating the offsets between the clocks of members.
// Thread rule: pure functions.

#include "analyze/facts/ranks.h"
#include "analyze/run_data.h"

namespace nl {

// Fills members, groups, collectives (without skew) and unmatched.
inline constexpr Reads kMatchReads =
    NL_READS(Collective, owner, owner_id, name, dtype, in_elements, group_size, group_name, group_description,
             group_ranks, sequence) |
    NL_READS(Op, thread_id, start_ns, dur_ns, name) | NL_READS(Thread, process_id) | NL_READS(Process, rank);
void MatchCollectives(const TimelineFacts& timeline, const RunData& data, RanksFacts& out);

// Fills the members' offsets and decides where they are applied.
void EstimateClocks(RanksFacts& facts);

}  // namespace nl
