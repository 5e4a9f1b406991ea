// SPDX-License-Identifier: Apache-2.0
// Offsets between the clocks of ranks. In a collective where everyone waits, no member ends before
// the last has started. With o the offset of a clock and m the (unknown) true
// time the last arrived, start - o <= m <= end - o for each member: difference constraints, whose
// tightest bounds are shortest paths from the first member. Within them, the estimate is the median
// difference of ends, because members leave together.

#include <algorithm>
#include <cstdlib>

#include "analyze/passes/ranks/match.h"
#include "base/median.h"

namespace nl {

namespace {

constexpr int64_t kUnknown = INT64_MIN;

struct Bounds {
  std::vector<int64_t> value;  // per member; kUnknown: not connected to the first
  bool settled = true;
};

// sign +1: the largest offsets allowed; -1: the smallest, negated.
Bounds Tighten(const RanksFacts& facts, int sign) {
  Bounds out;
  out.value.assign(facts.members.size(), kUnknown);
  out.value[0] = 0;
  const size_t rounds = 2 * facts.members.size() + 2;
  for (size_t round = 0;; ++round) {
    bool changed = false;
    for (const RanksFacts::Collective& c : facts.collectives) {
      if (!c.everyone_waits) continue;
      // Largest: -m <= o - start, then o <= -m + end. Smallest: m <= -o + end, then -o <= m - start.
      int64_t middle = kUnknown;
      for (const RanksFacts::Arrival& a : c.arrivals) {
        if (out.value[a.member] == kUnknown) continue;
        const int64_t m = sign > 0 ? out.value[a.member] - a.start_ns : out.value[a.member] + a.end_ns;
        middle = middle == kUnknown ? m : std::min(middle, m);
      }
      if (middle == kUnknown) continue;
      for (const RanksFacts::Arrival& a : c.arrivals) {
        const int64_t reach = sign > 0 ? middle + a.end_ns : middle - a.start_ns;
        int64_t& value = out.value[a.member];
        if (value != kUnknown && value <= reach) continue;
        value = reach;
        changed = true;
      }
    }
    if (!changed) return out;
    if (round < rounds) continue;
    out.settled = false;  // they contradict each other
    return out;
  }
}

// Medians of the differences of ends, outwards from the first member.
std::vector<int64_t> EndDifferences(const RanksFacts& facts) {
  std::vector<int64_t> known(facts.members.size(), kUnknown);
  known[0] = 0;
  for (size_t round = 0; round < known.size(); ++round) {
    std::vector<std::vector<int64_t>> found(known.size());
    for (const RanksFacts::Collective& c : facts.collectives) {
      if (!c.everyone_waits) continue;
      std::vector<int64_t> ends;
      for (const RanksFacts::Arrival& a : c.arrivals) {
        if (known[a.member] != kUnknown) ends.push_back(a.end_ns - known[a.member]);
      }
      if (ends.empty()) continue;
      const int64_t end_ns = LowerMedian(ends);
      for (const RanksFacts::Arrival& a : c.arrivals) {
        if (known[a.member] == kUnknown) found[a.member].push_back(a.end_ns - end_ns);
      }
    }
    bool more = false;
    for (size_t i = 0; i < known.size(); ++i) {
      if (found[i].empty()) continue;
      known[i] = LowerMedian(found[i]);
      more = true;
    }
    if (!more) break;
  }
  return known;
}

// Largest distance of an end from the median: the bound when no single offset fits.
int64_t Spread(const RanksFacts& facts, const std::vector<int64_t>& offsets, uint32_t member) {
  int64_t most = 0;
  for (const RanksFacts::Collective& c : facts.collectives) {
    if (!c.everyone_waits) continue;
    for (const RanksFacts::Arrival& mine : c.arrivals) {
      if (mine.member != member) continue;
      for (const RanksFacts::Arrival& a : c.arrivals) {
        if (offsets[a.member] == kUnknown) continue;
        most = std::max(most, std::abs((mine.end_ns - offsets[member]) - (a.end_ns - offsets[a.member])));
      }
    }
  }
  return most;
}

}  // namespace

std::optional<int64_t> RanksFacts::Member::UncertaintyNs() const {
  if (!offset_ns) return std::nullopt;
  const int64_t at = offset_applied ? *offset_ns : 0;
  return std::max({int64_t{0}, at - *offset_low_ns, *offset_high_ns - at});
}

void EstimateClocks(RanksFacts& facts) {
  if (!facts.by_rank || facts.members.size() < 2) return;
  const Bounds high = Tighten(facts, 1), low = Tighten(facts, -1);
  const std::vector<int64_t> ends = EndDifferences(facts);
  const bool fits = high.settled && low.settled;
  for (uint32_t i = 0; i < facts.members.size(); ++i) {
    if (ends[i] == kUnknown) continue;
    RanksFacts::Member& m = facts.members[i];
    m.consistent = fits && high.value[i] >= -low.value[i];
    if (m.consistent) {
      m.offset_low_ns = -low.value[i];
      m.offset_high_ns = high.value[i];
      m.offset_ns = std::clamp(ends[i], *m.offset_low_ns, *m.offset_high_ns);
    } else {
      const int64_t spread = Spread(facts, ends, i);
      m.offset_ns = ends[i];
      m.offset_low_ns = ends[i] - spread;
      m.offset_high_ns = ends[i] + spread;
    }
    // Equal clocks are possible: nothing is corrected.
    m.offset_applied = *m.offset_low_ns > 0 || *m.offset_high_ns < 0;
  }
}

}  // namespace nl
