// SPDX-License-Identifier: Apache-2.0
// Arrival skew and transfer time of every matched collective, and their sums.

#include <algorithm>

#include "analyze/facts/ranks.h"
#include "analyze/pass.h"
#include "analyze/passes/ranks/match.h"
#include "analyze/totals.h"

namespace nl::passes::ranks {

namespace {

constexpr size_t kReportedCollectives = 50;

void Correct(RanksFacts& facts) {
  for (RanksFacts::Collective& c : facts.collectives) {
    for (RanksFacts::Arrival& a : c.arrivals) {
      const RanksFacts::Member& m = facts.members[a.member];
      const int64_t offset_ns = m.offset_applied ? *m.offset_ns : 0;
      a.arrive_ns = a.start_ns - offset_ns;
      a.leave_ns = a.end_ns - offset_ns;
    }
  }
}

void Measure(RanksFacts& facts, RanksFacts::Collective& c) {
  for (uint32_t i = 1; i < c.arrivals.size(); ++i) {
    if (c.arrivals[i].arrive_ns < c.arrivals[c.first].arrive_ns) c.first = i;
    if (c.arrivals[i].arrive_ns > c.arrivals[c.last].arrive_ns) c.last = i;
  }
  const int64_t first_ns = c.arrivals[c.first].arrive_ns, last_ns = c.arrivals[c.last].arrive_ns;
  int64_t before_ns = first_ns, end_ns = c.arrivals[0].leave_ns;
  bool impossible = false;
  for (uint32_t i = 0; i < c.arrivals.size(); ++i) {
    const RanksFacts::Arrival& a = c.arrivals[i];
    RanksFacts::Member& m = facts.members[a.member];
    // Only while it was inside.
    const int64_t waited_ns = std::clamp<int64_t>(last_ns - a.arrive_ns, 0, a.leave_ns - a.arrive_ns);
    const int64_t transfer_ns = a.leave_ns - a.arrive_ns - waited_ns;
    ++m.collectives;
    m.waited_ns += waited_ns;
    m.transfer_ns += transfer_ns;
    m.late_ns += a.arrive_ns - first_ns;
    facts.waited_ns += waited_ns;
    facts.transfer_ns += transfer_ns;
    end_ns = std::max(end_ns, a.leave_ns);
    if (i != c.last) before_ns = std::max(before_ns, a.arrive_ns);
    impossible |= c.everyone_waits && a.leave_ns < last_ns;
  }
  facts.impossible += impossible;
  c.skew_ns = last_ns - first_ns;
  c.transfer_ns = std::max<int64_t>(0, end_ns - last_ns);
  if (c.skew_ns > 0) {
    RanksFacts::Member& last = facts.members[c.arrivals[c.last].member];
    ++last.last;
    last.held_up_ns += last_ns - before_ns;
  }
}

void SumGroups(RanksFacts& facts) {
  std::vector<std::vector<int64_t>> skews(facts.groups.size()), transfers(facts.groups.size());
  for (const RanksFacts::Collective& c : facts.collectives) {
    RanksFacts::Group& g = facts.groups[c.group];
    ++g.collectives;
    g.skew_ns += c.skew_ns;
    g.transfer_ns += c.transfer_ns;
    g.max_skew_ns = std::max(g.max_skew_ns, c.skew_ns);
    if (c.skew_ns > 0) ++g.last_by_member[c.arrivals[c.last].member];
    skews[c.group].push_back(c.skew_ns);
    transfers[c.group].push_back(c.transfer_ns);
  }
  for (size_t i = 0; i < facts.groups.size(); ++i) {
    facts.groups[i].skew_p50_ns = Percentile(skews[i], 50);
    facts.groups[i].skew_p95_ns = Percentile(skews[i], 95);
    facts.groups[i].transfer_p50_ns = Percentile(transfers[i], 50);
  }
}

class RanksPass final : public Pass {
 public:
  PassInfo Info() const override {
    return {RanksFacts::kName,
            "Which rank waited for which in collectives, and the offsets between their clocks",
            {TimelineFacts::kName},
            kMatchReads,
            &RecordOf<RanksSection>};
  }
  Status Run(const RunData& data, const AnalysisOptions&, FactBoard& facts) const override {
    RanksFacts out;
    MatchCollectives(facts.Get<TimelineFacts>(), data, out);
    EstimateClocks(out);
    Correct(out);
    for (RanksFacts::Collective& c : out.collectives) Measure(out, c);
    SumGroups(out);
    std::stable_sort(out.collectives.begin(), out.collectives.end(), [](const auto& a, const auto& b) {
      return a.arrivals[a.last].arrive_ns < b.arrivals[b.last].arrive_ns;
    });
    facts.Put(std::move(out));
    return {};
  }
  // Empty for most runs: they have one rank.
  Described Section(const RunData& data, const FactBoard& facts) const override {
    const auto& found = facts.Get<RanksFacts>();
    if (found.collectives.empty()) return {};
    return Described::Of(SectionOf(found, facts.Get<TimelineFacts>(), data, kReportedCollectives));
  }
};

}  // namespace

const Pass& Describe() {
  static const RanksPass pass;
  return pass;
}

}  // namespace nl::passes::ranks
