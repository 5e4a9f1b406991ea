// SPDX-License-Identifier: Apache-2.0
#include "ops/timeline_event/event_analysis.h"

#include <algorithm>
#include <limits>

#include "analyze/facts/ranks.h"
#include "analyze/steady_findings.h"
#include "ops/open_analysis.h"

namespace nl::ops::timeline_event {

void Describe(Record<EventAnalysis>& r) {
  using T = EventAnalysis;
  r.Name("TimelineEventAnalysis", "What the analysis of the run knows about one event");
  r.Field(
      "findings", &T::findings,
      "Findings about its kernel or its operator, or with the event, its launch or its operator as evidence");
  r.Field("roofline", &T::roofline,
          "FLOPs, bytes and efficiency: of its kernel where counters were recorded, else of its operator "
          "with these "
          "shapes, else of all launches of its kernel");
  r.Field("roofline_reason", &T::roofline_reason, "Why roofline is null");
}

namespace {

bool IsAbout(const Finding& finding, const EventIdentity& event) {
  if (finding.kernel && (finding.kernel == event.kernel || finding.kernel == event.kernel_short)) return true;
  if (finding.op && !finding.kernel && finding.op == event.op) return true;
  return std::any_of(finding.evidence.begin(), finding.evidence.end(), [&event](const Evidence& evidence) {
    return evidence.table && evidence.row &&
           std::find(event.rows.begin(), event.rows.end(), std::pair(*evidence.table, *evidence.row)) !=
               event.rows.end();
  });
}

std::optional<RooflineRow> FindRow(const RooflineSection& section, const EventIdentity& event) {
  const auto first = [](const std::vector<RooflineRow>& rows, const auto& matches) {
    const auto it = std::find_if(rows.begin(), rows.end(), matches);
    return it == rows.end() ? std::nullopt : std::optional(*it);
  };
  const auto same_kernel = [&event](const RooflineRow& row) {
    return event.kernel && (row.raw_name == event.kernel || row.kernel == event.kernel_short);
  };
  if (auto row = first(section.counted, same_kernel)) return row;
  const auto same_op = [&event](const RooflineRow& row) {
    return event.op && row.op == event.op && row.shapes == event.op_shapes;
  };
  if (auto row = first(section.points, same_op)) return row;
  return first(section.kernels, same_kernel);
}

// The other members of the collective that the event is a part of; none when it is not one.
std::vector<std::pair<std::string, int64_t>> PeersOf(const RanksFacts& facts, const EventIdentity& event) {
  const std::string table = facts.host_times ? "op" : "kernel";
  std::vector<std::pair<std::string, int64_t>> out;
  if (event.rows.empty() || event.rows[0].first != table) return out;
  const auto is_event = [&event](const RanksFacts::Arrival& a) { return a.row == event.rows[0].second; };
  for (const RanksFacts::Collective& collective : facts.collectives) {
    if (std::none_of(collective.arrivals.begin(), collective.arrivals.end(), is_event)) continue;
    for (const RanksFacts::Arrival& arrival : collective.arrivals) {
      if (!is_event(arrival)) out.emplace_back(table, arrival.row);
    }
    break;
  }
  return out;
}

}  // namespace

Result<EventAnalysis> AnalyzeEvent(const OpContext& context, const std::string& run,
                                   const EventIdentity& event) {
  AnalysisParams params;
  params.run = run;
  NL_ASSIGN(const OpenAnalysis open, Analyze(context, params));
  EventAnalysis out;
  NL_ASSIGN(FindingsFacts found, SteadyFindings(*open.analysis));
  for (Finding& finding : found.findings) {
    if (IsAbout(finding, event)) out.findings.push_back(std::move(finding));
  }
  NL_ASSIGN(const RanksFacts* ranks, open.analysis->Need<RanksFacts>());
  out.peers = PeersOf(*ranks, event);
  if (!event.kernel && !event.op) {
    out.roofline_reason = "only kernels and operators have a place in the roofline";
    return out;
  }
  NL_ASSIGN(const RooflineFacts* facts, open.analysis->Need<RooflineFacts>());
  out.roofline = FindRow(SectionOf(*facts, open.analysis->data(), std::numeric_limits<size_t>::max()), event);
  if (!out.roofline) out.roofline_reason = "no kernel of this operator is linked to a device in this run";
  return out;
}

}  // namespace nl::ops::timeline_event
