// SPDX-License-Identifier: Apache-2.0
#pragma once
// RanksFacts: the collectives that ranks (or the devices of one process) ran together, split
// into waiting for the last member and transferring data, and the offsets between the clocks of
// the ranks. Rows of the run keep their recorded times; corrections are applied here only and
// are reported. Made by passes/ranks.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyze/facts/timeline.h"
#include "base/record.h"

namespace nl {

struct Features;
struct RunData;

struct RanksFacts {
  static constexpr const char* kName = "ranks";

  // A rank, or a device where the source records no ranks.
  struct Member {
    int32_t rank = NullOf<int32_t>::value, device = NullOf<int32_t>::value;
    int64_t collectives = 0;
    int64_t waited_ns = 0;    // in collectives, until the last arrived
    int64_t transfer_ns = 0;  // in collectives, from then to its own end
    int64_t late_ns = 0;      // arrival after the first member, sum
    int64_t held_up_ns = 0;   // as the last, arrival after the second to last: delay caused by it alone
    int64_t last = 0;         // collectives it was the last to arrive in
    // Its clock minus that of the first member, from the limits that collectives set: no member
    // leaves one before the last has arrived. Absent: no collective connects it to the first member.
    std::optional<int64_t> offset_ns, offset_low_ns, offset_high_ns;
    bool offset_applied = false;
    bool consistent = true;  // false: no single offset fits; the clocks drift, or calls were matched wrongly
    // Largest error of an arrival relative to the first member.
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
    bool everyone_waits = false;    // no member can leave before all have arrived (false for a broadcast)
    std::vector<Arrival> arrivals;  // by member
    uint32_t first = 0, last = 0;   // positions in arrivals
    int64_t skew_ns = 0, transfer_ns = 0;
  };
  struct Group {
    std::string name, description, ranks;  // empty: not recorded
    std::optional<int64_t> size;
    bool by_sequence = true;  // false: matched by order, because the source has no sequence numbers
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
  bool by_rank = true;      // false: devices of one clock
  bool host_times = false;  // times of host calls, because no device work belongs to a collective
  int64_t impossible = 0;   // collectives that a member left before the last arrived, after correction
  int64_t waited_ns = 0, transfer_ns = 0;  // over all members
  std::string not_assessed;                // why there is nothing here; empty when there is
};

// The features of ranks that rules may use; none for a run with one rank.
void AddRankFeatures(const RanksFacts& facts, int64_t wall_ns, Features& out);

// The facts as reports and `neurolens ranks` give them.
enum class RankMembers : uint8_t { kRanks, kDevices };
enum class RankTimes : uint8_t { kDeviceKernels, kHostCalls };
enum class RankMatch : uint8_t { kSequence, kOrder };
std::span<const std::string_view> NamesOf(RankMembers);
std::span<const std::string_view> NamesOf(RankTimes);
std::span<const std::string_view> NamesOf(RankMatch);

struct RankMember {
  std::optional<int32_t> rank, device;
  std::optional<std::string> file;
  int64_t collectives = 0;
  double waited_ms = 0, transfer_ms = 0, late_ms = 0;
  std::optional<double> mean_late_ms;
  int64_t last = 0;
  double held_up_ms = 0;
  std::optional<double> clock_offset_ms, clock_offset_low_ms, clock_offset_high_ms, clock_bound_ms;
  bool clock_consistent = true, clock_applied = false;
  std::optional<double> arrival_uncertainty_ms;
};
struct RankGroup {
  std::optional<std::string> group, description, ranks;
  std::optional<int64_t> size;
  RankMatch matched_by = RankMatch::kSequence;
  int64_t collectives = 0, incomplete = 0;
  double skew_ms = 0, skew_p50_ms = 0, skew_p95_ms = 0, max_skew_ms = 0, transfer_ms = 0, transfer_p50_ms = 0;
  std::optional<int32_t> most_often_last;
  int64_t last_count = 0;
};
struct RankArrival {
  int32_t who = 0;
  std::string table;
  int64_t row = 0;
  double late_ms = 0, dur_ms = 0;
};
struct RankCollective {
  std::optional<std::string> group;
  int64_t sequence = 0;
  std::optional<std::string> name, dtype;
  std::optional<int64_t> in_elements;
  double start_ms = 0, skew_ms = 0, transfer_ms = 0;
  int32_t first = 0, last = 0;
  bool everyone_waits = false;
  std::vector<RankArrival> arrivals;
};
struct RankUnmatched {
  std::string why;
  int64_t count = 0;
};
struct RanksSection {
  RankMembers members_are = RankMembers::kRanks;
  RankTimes times_of = RankTimes::kDeviceKernels;
  std::optional<std::string> not_assessed;
  double waited_ms = 0, transfer_ms = 0;
  int64_t collectives_total = 0, impossible = 0;
  std::vector<RankMember> members;
  bool clocks_corrected = false;
  std::vector<RankGroup> groups;
  std::vector<RankCollective> collectives;
  std::vector<RankUnmatched> unmatched;
};
void Describe(Record<RankMember>& r);
void Describe(Record<RankGroup>& r);
void Describe(Record<RankArrival>& r);
void Describe(Record<RankCollective>& r);
void Describe(Record<RankUnmatched>& r);
void Describe(Record<RanksSection>& r);

// `limit`: collectives to list, largest skew first; 0 lists all.
RanksSection SectionOf(const RanksFacts& facts, const TimelineFacts& timeline, const RunData& data,
                       size_t limit);

}  // namespace nl
