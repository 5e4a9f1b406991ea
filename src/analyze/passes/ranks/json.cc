// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "analyze/facts/ranks.h"
#include "analyze/run_data.h"
#include "base/units.h"

namespace nl {

namespace {

Json MsOrNull(const std::optional<int64_t>& ns) { return ns ? Json(Ms(*ns)) : Json(); }
Json Number(int32_t value) { return IsNull(value) ? Json() : Json(value); }

Json NameOf(const RanksFacts& facts, uint32_t member) {
  const RanksFacts::Member& m = facts.members[member];
  return Json(facts.by_rank ? m.rank : m.device);
}

// Where the file of a rank is told, the document tells it.
Json FileOf(const Json& document, int32_t rank) {
  const auto ranks = document.find("ranks");
  if (ranks == document.end() || !ranks->is_array()) return Json();
  for (const Json& r : *ranks) {
    if (r.is_object() && r.value("rank", int64_t{-1}) == rank && r.contains("file")) return r["file"];
  }
  return Json();
}

Json MemberJson(const RanksFacts& facts, const RanksFacts::Member& m, const Json& document) {
  Json out{{"rank", Number(m.rank)}, {"device", Number(m.device)}};
  out["file"] = IsNull(m.rank) ? Json() : FileOf(document, m.rank);
  out["collectives"] = m.collectives;
  out["waited_ms"] = Ms(m.waited_ns);
  out["transfer_ms"] = Ms(m.transfer_ns);
  out["late_ms"] = Ms(m.late_ns);
  out["mean_late_ms"] = m.collectives > 0 ? Json(Ms(m.late_ns) / static_cast<double>(m.collectives)) : Json();
  out["last"] = m.last;
  out["held_up_ms"] = Ms(m.held_up_ns);
  out["clock_offset_ms"] = facts.by_rank ? MsOrNull(m.offset_ns) : Json(0.0);
  out["clock_offset_low_ms"] = facts.by_rank ? MsOrNull(m.offset_low_ns) : Json(0.0);
  out["clock_offset_high_ms"] = facts.by_rank ? MsOrNull(m.offset_high_ns) : Json(0.0);
  out["clock_bound_ms"] = Json();
  if (m.offset_ns)
    out["clock_bound_ms"] = Ms(std::max(*m.offset_ns - *m.offset_low_ns, *m.offset_high_ns - *m.offset_ns));
  out["clock_consistent"] = m.consistent;
  out["clock_applied"] = m.offset_applied;
  out["arrival_uncertainty_ms"] = facts.by_rank ? MsOrNull(m.UncertaintyNs()) : Json(0.0);
  return out;
}

Json GroupJson(const RanksFacts& facts, const RanksFacts::Group& g) {
  Json out{{"group", TextOrNull(g.name)},
           {"description", TextOrNull(g.description)},
           {"ranks", TextOrNull(g.ranks)}};
  out["size"] = g.size ? Json(*g.size) : Json();
  out["matched_by"] = g.by_sequence ? "sequence" : "order";
  out["collectives"] = g.collectives;
  out["incomplete"] = g.incomplete;
  out["skew_ms"] = Ms(g.skew_ns);
  out["skew_p50_ms"] = g.skew_p50_ns / 1e6;
  out["skew_p95_ms"] = g.skew_p95_ns / 1e6;
  out["max_skew_ms"] = Ms(g.max_skew_ns);
  out["transfer_ms"] = Ms(g.transfer_ns);
  out["transfer_p50_ms"] = g.transfer_p50_ns / 1e6;
  const auto most = std::max_element(g.last_by_member.begin(), g.last_by_member.end());
  const bool anyone = most != g.last_by_member.end() && *most > 0;
  out["most_often_last"] =
      anyone ? NameOf(facts, static_cast<uint32_t>(most - g.last_by_member.begin())) : Json();
  out["last_count"] = anyone ? Json(*most) : Json(0);
  return out;
}

Json CollectiveJson(const RanksFacts& facts, const RanksFacts::Collective& c, int64_t origin_ns,
                    const RunData& data) {
  Json out{{"group", TextOrNull(facts.groups[c.group].name)}, {"sequence", c.sequence}};
  out["name"] = IsNull(c.name) ? Json() : Json(data.Text(c.name));
  out["dtype"] = IsNull(c.dtype) ? Json() : Json(data.Text(c.dtype));
  out["in_elements"] = IsNull(c.in_elements) ? Json() : Json(c.in_elements);
  out["start_ms"] = Ms(c.arrivals[c.first].arrive_ns - origin_ns);
  out["skew_ms"] = Ms(c.skew_ns);
  out["transfer_ms"] = Ms(c.transfer_ns);
  out["first"] = NameOf(facts, c.arrivals[c.first].member);
  out["last"] = NameOf(facts, c.arrivals[c.last].member);
  out["everyone_waits"] = c.everyone_waits;
  out["arrivals"] = Json::array();
  for (const RanksFacts::Arrival& a : c.arrivals) {
    out["arrivals"].push_back({{"who", NameOf(facts, a.member)},
                               {"table", facts.host_times ? "op" : "kernel"},
                               {"row", a.row},
                               {"late_ms", Ms(a.arrive_ns - c.arrivals[c.first].arrive_ns)},
                               {"dur_ms", Ms(a.end_ns - a.start_ns)}});
  }
  return out;
}

}  // namespace

Json ToJson(const RanksFacts& facts, const TimelineFacts& timeline, const RunData& data, size_t limit) {
  Json out;
  out["members_are"] = facts.by_rank ? "ranks" : "devices";
  out["times_of"] = facts.host_times ? "host calls" : "device kernels";
  out["not_assessed"] = TextOrNull(facts.not_assessed);
  out["waited_ms"] = Ms(facts.waited_ns);
  out["transfer_ms"] = Ms(facts.transfer_ns);
  out["collectives_total"] = facts.collectives.size();
  out["impossible"] = facts.impossible;
  out["members"] = Json::array();
  bool applied = false;
  for (const RanksFacts::Member& m : facts.members) {
    out["members"].push_back(MemberJson(facts, m, data.document));
    applied |= m.offset_applied;
  }
  out["clocks_corrected"] = applied;
  out["groups"] = Json::array();
  for (const RanksFacts::Group& g : facts.groups) out["groups"].push_back(GroupJson(facts, g));
  std::vector<const RanksFacts::Collective*> order;
  for (const RanksFacts::Collective& c : facts.collectives) order.push_back(&c);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto* a, const auto* b) { return a->skew_ns > b->skew_ns; });
  if (limit > 0 && order.size() > limit) order.resize(limit);
  out["collectives"] = Json::array();
  for (const RanksFacts::Collective* c : order)
    out["collectives"].push_back(CollectiveJson(facts, *c, timeline.first_start_ns, data));
  out["unmatched"] = Json::array();
  for (const RanksFacts::Unmatched& u : facts.unmatched)
    out["unmatched"].push_back({{"why", u.why}, {"count", u.count}});
  return out;
}

}  // namespace nl
