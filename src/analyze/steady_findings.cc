// SPDX-License-Identifier: Apache-2.0
#include "analyze/steady_findings.h"

#include <algorithm>
#include <iterator>

#include "analyze/facts/timeline.h"

namespace nl {

Result<std::optional<PhasesFacts::Span>> SteadyByDefault(Analysis& analysis) {
  using Span = std::optional<PhasesFacts::Span>;
  if (analysis.data().OrderOnly() || !analysis.data().FromProgramStart()) return Span();
  NL_ASSIGN(const PhasesFacts* phases, analysis.Need<PhasesFacts>());
  const auto& timeline = analysis.facts().Get<TimelineFacts>();
  if (!IsSteadyByDefault(*phases, timeline.wall_ns())) return Span();
  const PhasesFacts::Span* span = FindPhase(*phases, "steady");
  return span != nullptr ? Span(*span) : Span();
}

Result<FindingsFacts> FindingsOfPart(Analysis& analysis, const PhasesFacts::Span& span) {
  NL_ASSIGN(const FindingsFacts* whole, analysis.Need<FindingsFacts>());
  NL_ASSIGN(const FactBoard facts, analysis.FactsOf({span.start_ns, span.end_ns}, FindingsFacts::kName));
  const auto& part = facts.Get<FindingsFacts>();
  FindingsFacts out = *whole;
  out.diagnosis = part.diagnosis;
  out.diagnosis.phase = span.what;
  out.step = part.step;
  out.near_limit = part.near_limit;
  out.findings.clear();
  const auto take = [&out](const std::vector<Finding>& from, auto&& wanted) {
    std::copy_if(from.begin(), from.end(), std::back_inserter(out.findings), wanted);
  };
  take(whole->findings, [](const Finding& f) { return f.of_recording && f.first; });
  take(part.findings, [](const Finding& f) { return !f.of_recording; });
  take(whole->findings, [](const Finding& f) { return f.of_recording && !f.first; });
  return out;
}

Result<FindingsFacts> SteadyFindings(Analysis& analysis) {
  NL_ASSIGN(const FindingsFacts* whole, analysis.Need<FindingsFacts>());
  if (analysis.options().part) return *whole;
  NL_ASSIGN(const std::optional<PhasesFacts::Span> span, SteadyByDefault(analysis));
  return span ? FindingsOfPart(analysis, *span) : *whole;
}

}  // namespace nl
