// SPDX-License-Identifier: Apache-2.0
#include "ops/gate/explain.h"

#include <algorithm>
#include <cmath>

#include "analyze/compare/compare.h"

namespace nl::ops::gate {

namespace {

constexpr size_t kContributions = 5;

// The run whose value is the median, or the next smaller one.
size_t Typical(const std::vector<double>& values) {
  std::vector<size_t> order(values.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  return order[(order.size() - 1) / 2];
}

Result<OpenAnalysis> OpenTypical(const OpContext& context, AnalysisParams params, const CommonPhase* phase,
                                 const SideRuns& side) {
  const size_t typical = Typical(side.values);
  params.run = side.run_ids[typical];
  NL_ASSIGN(OpenAnalysis open, Analyze(context, params));
  if (phase != nullptr) phase->LookAt(side.first + typical, *open.analysis);
  return open;
}

Result<GateExplanation> Explain(const OpContext& context, const AnalysisParams& params,
                                const CommonPhase* phase, const SideRuns& baseline,
                                const SideRuns& candidate) {
  NL_ASSIGN(const OpenAnalysis a, OpenTypical(context, params, phase, baseline));
  NL_ASSIGN(const OpenAnalysis b, OpenTypical(context, params, phase, candidate));
  NL_ASSIGN(const Comparison comparison, CompareRuns(*a.analysis, *b.analysis, {}));
  GateExplanation out = GateExplanationOf(comparison, kContributions);
  out.run_a = a.run.run.run_id;
  out.run_b = b.run.run.run_id;
  return out;
}

}  // namespace

std::optional<GateExplanation> ExplainContributions(const OpContext& context, const AnalysisParams& params,
                                                    const CommonPhase* phase, const SideRuns& baseline,
                                                    const SideRuns& candidate) {
  if (baseline.run_ids.empty() || candidate.run_ids.empty()) return std::nullopt;
  Result<GateExplanation> explained = Explain(context, params, phase, baseline, candidate);
  if (explained.ok()) return *std::move(explained);
  GateExplanation out;
  out.reason = explained.error().message;
  return out;
}

}  // namespace nl::ops::gate
