// SPDX-License-Identifier: Apache-2.0
// The collectives as reports and `neurolens ranks` give them.
#include <algorithm>

#include "analyze/facts/ranks.h"
#include "analyze/run_data.h"
#include "base/units.h"

namespace nl {

std::span<const std::string_view> NamesOf(RankMembers) {
  static constexpr std::string_view kNames[] = {"ranks", "devices"};
  return kNames;
}
std::span<const std::string_view> NamesOf(RankTimes) {
  static constexpr std::string_view kNames[] = {"device kernels", "host calls"};
  return kNames;
}
std::span<const std::string_view> NamesOf(RankMatch) {
  static constexpr std::string_view kNames[] = {"sequence", "order"};
  return kNames;
}

void Describe(Record<RankMember>& r) {
  r.Name("RankMember", "One rank (or device) that takes part in collectives");
  r.Field("rank", &RankMember::rank, "Rank");
  r.Field("device", &RankMember::device, "Device, where members are devices");
  r.Field("file", &RankMember::file, "File that the rank was imported from");
  r.Field("collectives", &RankMember::collectives, "Collectives it took part in");
  r.Field("waited_ms", &RankMember::waited_ms, Unit::kMs, "In collectives until the last member arrived");
  r.Field("transfer_ms", &RankMember::transfer_ms, Unit::kMs, "In collectives after the last arrival");
  r.Field("late_ms", &RankMember::late_ms, Unit::kMs, "Arrival after the first member, sum");
  r.Field("mean_late_ms", &RankMember::mean_late_ms, Unit::kMs, "Arrival after the first member, mean");
  r.Field("last", &RankMember::last, "Collectives it arrived last in");
  r.Field("held_up_ms", &RankMember::held_up_ms, Unit::kMs,
          "As the last member, arrival after the second to last, sum: delay caused by it alone");
  r.Field("clock_offset_ms", &RankMember::clock_offset_ms, Unit::kMs,
          "Its clock minus that of the first member; null when no collective connects them");
  r.Field("clock_offset_low_ms", &RankMember::clock_offset_low_ms, Unit::kMs, "Smallest possible offset");
  r.Field("clock_offset_high_ms", &RankMember::clock_offset_high_ms, Unit::kMs, "Largest possible offset");
  r.Field("clock_bound_ms", &RankMember::clock_bound_ms, Unit::kMs, "Largest error of the offset");
  r.Field("clock_consistent", &RankMember::clock_consistent,
          "A single offset fits every collective; false: the clocks drift or calls were matched wrongly");
  r.Field("clock_applied", &RankMember::clock_applied, "Its arrivals are corrected by the offset");
  r.Field("arrival_uncertainty_ms", &RankMember::arrival_uncertainty_ms, Unit::kMs,
          "Largest error of an arrival relative to the first member");
}

void Describe(Record<RankGroup>& r) {
  r.Name("RankGroup", "Collectives of one process group");
  r.Field("group", &RankGroup::group, "Name of the group");
  r.Field("description", &RankGroup::description, "Description of the group");
  r.Field("ranks", &RankGroup::ranks, "Ranks of the group, as recorded");
  r.Field("size", &RankGroup::size, "Ranks in the group, as recorded");
  r.Field("matched_by", &RankGroup::matched_by, "How calls of different members were matched");
  r.Field("collectives", &RankGroup::collectives, "Collectives");
  r.Field("incomplete", &RankGroup::incomplete, "Collectives without all members of the group");
  r.Field("skew_ms", &RankGroup::skew_ms, Unit::kMs, "First to last arrival, sum");
  r.Field("skew_p50_ms", &RankGroup::skew_p50_ms, Unit::kMs, "Median skew");
  r.Field("skew_p95_ms", &RankGroup::skew_p95_ms, Unit::kMs, "95th percentile of the skew");
  r.Field("max_skew_ms", &RankGroup::max_skew_ms, Unit::kMs, "Largest skew");
  r.Field("transfer_ms", &RankGroup::transfer_ms, Unit::kMs, "Last arrival to the last end, sum");
  r.Field("transfer_p50_ms", &RankGroup::transfer_p50_ms, Unit::kMs, "Median transfer time");
  r.Field("most_often_last", &RankGroup::most_often_last, "Member that arrived last most often");
  r.Field("last_count", &RankGroup::last_count, "How often it arrived last");
}

void Describe(Record<RankArrival>& r) {
  r.Name("RankArrival", "One member in one collective");
  r.Field("who", &RankArrival::who, "Rank or device");
  r.Field("table", &RankArrival::table, "Table of its event: kernel or op");
  r.Field("row", &RankArrival::row, "Row in that table");
  r.Field("late_ms", &RankArrival::late_ms, Unit::kMs, "Arrival after the first member");
  r.Field("dur_ms", &RankArrival::dur_ms, Unit::kMs, "Duration as recorded");
}

void Describe(Record<RankCollective>& r) {
  r.Name("RankCollective", "One collective, matched across its members");
  r.Field("group", &RankCollective::group, "Name of the group");
  r.Field("sequence", &RankCollective::sequence, "Sequence number, or position within the group");
  r.Field("name", &RankCollective::name, "Name of the collective");
  r.Field("dtype", &RankCollective::dtype, "Type of its elements");
  r.Field("in_elements", &RankCollective::in_elements, "Input elements");
  r.Field("start_ms", &RankCollective::start_ms, Unit::kMs, "First arrival, from the start of the run");
  r.Field("skew_ms", &RankCollective::skew_ms, Unit::kMs, "First to last arrival");
  r.Field("transfer_ms", &RankCollective::transfer_ms, Unit::kMs, "Last arrival to the last end");
  r.Field("first", &RankCollective::first, "Member that arrived first");
  r.Field("last", &RankCollective::last, "Member that arrived last");
  r.Field("everyone_waits", &RankCollective::everyone_waits,
          "No member can leave before all have arrived (false for a broadcast)");
  r.Field("arrivals", &RankCollective::arrivals, "Each member");
}

void Describe(Record<RankUnmatched>& r) {
  r.Name("RankUnmatched", "Calls that could not be matched across members");
  r.Field("why", &RankUnmatched::why, "Reason");
  r.Field("count", &RankUnmatched::count, "Calls");
}

void Describe(Record<RanksSection>& r) {
  r.Name("RanksSection", "Which rank waited for which in collectives");
  r.Field("members_are", &RanksSection::members_are, "Members are ranks, or devices of one process");
  r.Field("times_of", &RanksSection::times_of, "Events that the times come from");
  r.Field("not_assessed", &RanksSection::not_assessed, "Why there is nothing to show");
  r.Field("waited_ms", &RanksSection::waited_ms, Unit::kMs,
          "Inside collectives until the last member arrived, sum over members");
  r.Field("transfer_ms", &RanksSection::transfer_ms, Unit::kMs,
          "Inside collectives after the last arrival, sum over members");
  r.Field("collectives_total", &RanksSection::collectives_total, "Collectives before the limit");
  r.Field("impossible", &RanksSection::impossible, "Collectives that a member left before the last arrived");
  r.Field("members", &RanksSection::members, "Each rank or device");
  r.Field("clocks_corrected", &RanksSection::clocks_corrected,
          "Some arrivals here are corrected for clock offsets; rows stored in the run never are");
  r.Field("groups", &RanksSection::groups, "Each process group");
  r.Field("collectives", &RanksSection::collectives, "Collectives, largest skew first");
  r.Field("unmatched", &RanksSection::unmatched, "Calls that could not be matched");
}

namespace passes::ranks {
namespace {

std::optional<double> MsOf(const std::optional<int64_t>& ns) {
  return ns ? std::optional(Ms(*ns)) : std::nullopt;
}
std::optional<std::string> TextOf(StringId id, const RunData& data) {
  return IsNull(id) ? std::nullopt : std::optional(std::string(data.Text(id)));
}

int32_t NumberOf(const RanksFacts& facts, uint32_t member) {
  const RanksFacts::Member& m = facts.members[member];
  return facts.by_rank ? m.rank : m.device;
}

// The run document lists the file of each rank, where it is known.
std::optional<std::string> FileOf(const Json& document, int32_t rank) {
  const auto ranks = document.find("ranks");
  if (ranks == document.end() || !ranks->is_array()) return std::nullopt;
  for (const Json& r : *ranks) {
    if (!r.is_object() || r.value("rank", int64_t{-1}) != rank) continue;
    if (const auto file = r.find("file"); file != r.end() && file->is_string())
      return file->get<std::string>();
  }
  return std::nullopt;
}

RankMember MemberOf(const RanksFacts& facts, const RanksFacts::Member& m, const Json& document) {
  RankMember out;
  out.rank = Known(m.rank);
  out.device = Known(m.device);
  if (out.rank) out.file = FileOf(document, m.rank);
  out.collectives = m.collectives;
  out.waited_ms = Ms(m.waited_ns);
  out.transfer_ms = Ms(m.transfer_ns);
  out.late_ms = Ms(m.late_ns);
  if (m.collectives > 0) out.mean_late_ms = Ms(m.late_ns) / static_cast<double>(m.collectives);
  out.last = m.last;
  out.held_up_ms = Ms(m.held_up_ns);
  out.clock_consistent = m.consistent;
  out.clock_applied = m.offset_applied;
  if (m.offset_ns)
    out.clock_bound_ms = Ms(std::max(*m.offset_ns - *m.offset_low_ns, *m.offset_high_ns - *m.offset_ns));
  if (!facts.by_rank) {  // devices of one process share a clock
    out.clock_offset_ms = out.clock_offset_low_ms = out.clock_offset_high_ms = out.arrival_uncertainty_ms = 0;
    return out;
  }
  out.clock_offset_ms = MsOf(m.offset_ns);
  out.clock_offset_low_ms = MsOf(m.offset_low_ns);
  out.clock_offset_high_ms = MsOf(m.offset_high_ns);
  out.arrival_uncertainty_ms = MsOf(m.UncertaintyNs());
  return out;
}

RankGroup GroupOf(const RanksFacts& facts, const RanksFacts::Group& g) {
  RankGroup out;
  out.group = KnownText(g.name);
  out.description = KnownText(g.description);
  out.ranks = KnownText(g.ranks);
  out.size = g.size;
  out.matched_by = g.by_sequence ? RankMatch::kSequence : RankMatch::kOrder;
  out.collectives = g.collectives;
  out.incomplete = g.incomplete;
  out.skew_ms = Ms(g.skew_ns);
  out.skew_p50_ms = g.skew_p50_ns / 1e6;
  out.skew_p95_ms = g.skew_p95_ns / 1e6;
  out.max_skew_ms = Ms(g.max_skew_ns);
  out.transfer_ms = Ms(g.transfer_ns);
  out.transfer_p50_ms = g.transfer_p50_ns / 1e6;
  const auto most = std::max_element(g.last_by_member.begin(), g.last_by_member.end());
  if (most != g.last_by_member.end() && *most > 0) {
    out.most_often_last = NumberOf(facts, static_cast<uint32_t>(most - g.last_by_member.begin()));
    out.last_count = *most;
  }
  return out;
}

RankCollective CollectiveOf(const RanksFacts& facts, const RanksFacts::Collective& c, int64_t origin_ns,
                            const RunData& data) {
  RankCollective out;
  out.group = KnownText(facts.groups[c.group].name);
  out.sequence = c.sequence;
  out.name = TextOf(c.name, data);
  out.dtype = TextOf(c.dtype, data);
  out.in_elements = Known(c.in_elements);
  const int64_t first_ns = c.arrivals[c.first].arrive_ns;
  out.start_ms = Ms(first_ns - origin_ns);
  out.skew_ms = Ms(c.skew_ns);
  out.transfer_ms = Ms(c.transfer_ns);
  out.first = NumberOf(facts, c.arrivals[c.first].member);
  out.last = NumberOf(facts, c.arrivals[c.last].member);
  out.everyone_waits = c.everyone_waits;
  for (const RanksFacts::Arrival& a : c.arrivals) {
    out.arrivals.push_back({NumberOf(facts, a.member), facts.host_times ? "op" : "kernel", a.row,
                            Ms(a.arrive_ns - first_ns), Ms(a.end_ns - a.start_ns)});
  }
  return out;
}

}  // namespace
}  // namespace passes::ranks

RanksSection SectionOf(const RanksFacts& facts, const TimelineFacts& timeline, const RunData& data,
                       size_t limit) {
  using namespace passes::ranks;
  RanksSection out;
  out.members_are = facts.by_rank ? RankMembers::kRanks : RankMembers::kDevices;
  out.times_of = facts.host_times ? RankTimes::kHostCalls : RankTimes::kDeviceKernels;
  out.not_assessed = KnownText(facts.not_assessed);
  out.waited_ms = Ms(facts.waited_ns);
  out.transfer_ms = Ms(facts.transfer_ns);
  out.collectives_total = static_cast<int64_t>(facts.collectives.size());
  out.impossible = facts.impossible;
  for (const RanksFacts::Member& m : facts.members) {
    out.members.push_back(MemberOf(facts, m, data.document));
    out.clocks_corrected |= m.offset_applied;
  }
  for (const RanksFacts::Group& g : facts.groups) out.groups.push_back(GroupOf(facts, g));
  std::vector<const RanksFacts::Collective*> order;
  for (const RanksFacts::Collective& c : facts.collectives) order.push_back(&c);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto* a, const auto* b) { return a->skew_ns > b->skew_ns; });
  if (limit > 0 && order.size() > limit) order.resize(limit);
  for (const RanksFacts::Collective* c : order)
    out.collectives.push_back(CollectiveOf(facts, *c, timeline.first_start_ns, data));
  for (const RanksFacts::Unmatched& u : facts.unmatched) out.unmatched.push_back({u.why, u.count});
  return out;
}

}  // namespace nl
