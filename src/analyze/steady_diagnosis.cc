// SPDX-License-Identifier: Apache-2.0
#include "analyze/steady_diagnosis.h"

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

Result<Diagnosis> DiagnoseSteady(Analysis& analysis) {
  NL_ASSIGN(const FindingsFacts* whole, analysis.Need<FindingsFacts>());
  if (analysis.options().part) return whole->diagnosis;
  NL_ASSIGN(const std::optional<PhasesFacts::Span> span, SteadyByDefault(analysis));
  if (!span) return whole->diagnosis;
  NL_ASSIGN(const FactBoard facts, analysis.FactsOf({span->start_ns, span->end_ns}, FindingsFacts::kName));
  Diagnosis out = facts.Get<FindingsFacts>().diagnosis;
  out.phase = PhaseKind::kSteady;
  return out;
}

}  // namespace nl
