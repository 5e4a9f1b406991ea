// SPDX-License-Identifier: Apache-2.0
#pragma once
// RankFacts of the analysis: the collectives that ranks (or the devices of one process) ran
// together, split into waiting for the last to arrive and moving the data, and how far the clocks
// of the ranks are apart. Rows of the run keep their own times; a correction is made here only,
// and said. Made by passes/ranks.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyze/facts/timeline.h"
#include "base/json.h"

namespace nl {

struct Features;
struct RunData;

struct RanksFacts {
  static constexpr const char* kName = "ranks";

  // Who takes part: a rank, or a device where the source knows no ranks.
  struct Member {
    int32_t rank = NullOf<int32_t>::value, device = NullOf<int32_t>::value;
    int64_t collectives = 0;
    int64_t waited_ns = 0;    // in collectives, until the last arrived
    int64_t transfer_ns = 0;  // in collectives, from then to its own end
    int64_t late_ns = 0;      // after the first arrival, sum
    int64_t held_up_ns = 0;   // as the last, after the one before it: what the others lost by it alone
    int64_t last = 0;         // collectives it was the last to arrive in
    // Its clock minus that of the first member, from what collectives allow: nobody leaves one
    // before the last has come. Absent: no collective ties it to the first member.
    std::optional<int64_t> offset_ns, offset_low_ns, offset_high_ns;
    bool offset_applied = false;
    bool consistent = true;  // false: no single offset fits; the clocks drift, or calls were matched wrongly
    // How wrong an arrival may be against one of the first member.
    std::optional<int64_t> UncertaintyNs() const;
  };
  struct Arrival {
    uint32_t member;
    uint32_t row;                 // of the kernel, or of the op
    int64_t start_ns, end_ns;     // as recorded
    int64_t arrive_ns, leave_ns;  // corrected where the member's offset is applied
  };
  struct Collective {
    uint32_t group;
    int64_t sequence = 0;  // the source's, or the order within the group
    StringId name = StringId::kNull, dtype = StringId::kNull;
    int64_t in_elements = NullOf<int64_t>::value;
    bool everyone_waits = false;    // no member can leave before all have come (not so in a broadcast)
    std::vector<Arrival> arrivals;  // by member
    uint32_t first = 0, last = 0;   // positions in arrivals
    int64_t skew_ns = 0, transfer_ns = 0;
  };
  struct Group {
    std::string name, description, ranks;  // empty: not told
    std::optional<int64_t> size;
    bool by_sequence = true;  // false: matched by order, as the source numbers nothing
    int64_t collectives = 0, incomplete = 0, skew_ns = 0, transfer_ns = 0, max_skew_ns = 0;
    double skew_p50_ns = 0, skew_p95_ns = 0, transfer_p50_ns = 0;
    std::vector<int64_t> last_by_member;
  };
  struct Unmatched {
    std::string why;
    int64_t count = 0;
  };

  std::vector<Member> members;
  std::vector<Group> groups;
  std::vector<Collective> collectives;  // by arrival of the last
  std::vector<Unmatched> unmatched;
  bool by_rank = true;                     // false: devices of one clock
  bool host_times = false;                 // of the calls, as no device work tells of collectives
  int64_t impossible = 0;                  // a member left before the last arrived, after every correction
  int64_t waited_ns = 0, transfer_ns = 0;  // over all members
  std::string not_assessed;                // why there is nothing here; empty when there is
};

// Gives rules what is known of ranks; nothing for a run of one rank.
void AddRankFeatures(const RanksFacts& facts, int64_t wall_ns, Features& out);

// `limit`: the collectives listed, largest skew first; 0: all.
Json ToJson(const RanksFacts& facts, const TimelineFacts& timeline, const RunData& data, size_t limit);

}  // namespace nl
