// SPDX-License-Identifier: Apache-2.0
// Rules over the features, then the diagnosis.
#include "analyze/facts/findings.h"

#include "analyze/facts/critical_path.h"
#include "analyze/facts/phases.h"
#include "analyze/features/parts.h"
#include "analyze/pass.h"
#include "analyze/passes/findings/diagnosis.h"
#include "analyze/passes/findings/tool_findings.h"
#include "analyze/program/observed.h"
#include "analyze/replay/step_replay.h"
#include "analyze/rules/engine.h"
#include "base/units.h"

namespace nl {

namespace passes::findings {

namespace {

SteadyStep StepOf(const replay::StepReplay& steps, const PhasesFacts& phases, const RunData& data) {
  SteadyStep out;
  out.steps = steps.steps();
  out.steady_steps = phases.steady_steps;
  out.source = phases.source;
  out.label = KnownText(phases.label);
  out.recorded_ms = steps.recorded_step_ns() / 1e6;
  out.ms = steps.step_ns() / 1e6;
  // Most steps were recorded at less cost than those that are replayed.
  if (!steps.whole() && !program::ObservedSteps(data).all())
    out.recorded_ms = std::max(out.ms, Ms(phases.step_ns));
  out.recorder = KnownText(steps.price().recorder);
  return out;
}

std::vector<NearLimit> NearLimits(const Features& features) {
  constexpr double kLeastShare = 0.05, kMostSlack = 0.2;
  std::vector<NearLimit> out;
  for (const FeatureSubject& kernel : features.kernels) {
    const auto left = kernel.Number("kernel.left"), efficiency = kernel.Number("kernel.efficiency");
    const double share = kernel.Number("kernel.share").value_or(0);
    // Short kernels at the rate that short kernels reach are left out: they could be longer ones.
    if (!left || !efficiency || 1 - *left > kMostSlack || *efficiency < 0.5 || share < kLeastShare) continue;
    out.push_back({kernel.Text("kernel.name"), KnownText(kernel.Text("kernel.op")),
                   kernel.Number("kernel.total_ms").value_or(0), share, *efficiency});
  }
  return out;
}

class FindingsPass final : public Pass {
 public:
  PassInfo Info() const override {
    return {
        FindingsFacts::kName,
        "What bounds the run, and what the rules found",
        {TimelineFacts::kName, PhasesFacts::kName, CriticalPathFacts::kName, Features::kName},
        FeatureReads() | kToolFindingReads | program::kObservedReads,  // gaps and gains: what features read
        &RecordOf<FindingsFacts>};
  }
  Status Run(const RunData& data, const AnalysisOptions& options, FactBoard& facts) const override {
    NL_ASSIGN(const RuleSet rules, RuleSet::Load(options.rules_files));
    const auto& timeline = facts.Get<TimelineFacts>();
    Features features = facts.Get<Features>();
    const auto& path = facts.Get<CriticalPathFacts>();
    const auto& phases = facts.Get<PhasesFacts>();
    const replay::StepReplay steps(*path.graph, timeline, data, phases);
    if (steps.usable() && !steps.whole()) nl::features::AddGaps(steps, features);
    RuleResults results = ApplyRules(rules, features, steps.usable() ? &steps : nullptr);
    FindingsFacts out;
    if (steps.usable()) {
      out.step = StepOf(steps, phases, data);
      if (!steps.whole()) out.step->busy_share = features.run.Number("run.steady_utilization");
    }
    out.diagnosis = Diagnose(features);
    out.findings = std::move(results.findings);
    out.not_assessed = std::move(results.not_assessed);
    out.near_limit = NearLimits(features);
    out.rules = results.rules;
    out.tool_findings = ToolFindings(data);
    facts.Put(std::move(out));
    return {};
  }
  Described Section(const RunData&, const FactBoard& facts) const override {
    return Described::Of(facts.Get<FindingsFacts>());
  }
};

}  // namespace

const Pass& Describe() {
  static const FindingsPass pass;
  return pass;
}

}  // namespace passes::findings

}  // namespace nl
