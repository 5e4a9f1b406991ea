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

Result<GateExplanation> Explain(const OpContext& context, const AnalysisParams& params,
                                const SideRuns& baseline, const SideRuns& candidate) {
  AnalysisParams of_a = params;
  AnalysisParams of_b = params;
  of_a.run = baseline.run_ids[Typical(baseline.values)];
  of_b.run = candidate.run_ids[Typical(candidate.values)];
  NL_ASSIGN(const OpenAnalysis a, Analyze(context, of_a));
  NL_ASSIGN(const OpenAnalysis b, Analyze(context, of_b));
  NL_ASSIGN(const Comparison comparison, CompareRuns(*a.analysis, *b.analysis, {}));
  GateExplanation out = GateExplanationOf(comparison, kContributions);
  out.run_a = of_a.run;
  out.run_b = of_b.run;
  return out;
}

}  // namespace

std::optional<GateExplanation> ExplainContributions(const OpContext& context, const AnalysisParams& params,
                                                    const SideRuns& baseline, const SideRuns& candidate) {
  if (baseline.run_ids.empty() || candidate.run_ids.empty()) return std::nullopt;
  Result<GateExplanation> explained = Explain(context, params, baseline, candidate);
  if (explained.ok()) return *std::move(explained);
  GateExplanation out;
  out.reason = explained.error().message;
  return out;
}

}  // namespace nl::ops::gate
