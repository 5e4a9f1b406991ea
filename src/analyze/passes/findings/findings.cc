// SPDX-License-Identifier: Apache-2.0
// Features, then rules, then the diagnosis.
#include "analyze/facts/findings.h"

#include "analyze/facts/ranks.h"
#include "analyze/facts/samples.h"
#include "analyze/pass.h"
#include "analyze/passes/findings/diagnosis.h"
#include "analyze/passes/findings/tool_findings.h"
#include "analyze/rules/engine.h"
#include "base/units.h"

namespace nl {

namespace passes::findings {

namespace {

class FindingsPass final : public Pass {
 public:
  PassInfo Info() const override {
    return {FindingsFacts::kName,
            "What bounds the run, and what the rules found",
            {TimelineFacts::kName, IdleFacts::kName, RanksFacts::kName, SamplesFacts::kName},
            FeatureReads() | kToolFindingReads,
            &RecordOf<FindingsFacts>};
  }
  Status Run(const RunData& data, const AnalysisOptions& options, FactBoard& facts) const override {
    NL_ASSIGN(const RuleSet rules, RuleSet::Load(options.rules_files));
    const auto& timeline = facts.Get<TimelineFacts>();
    Features features = ComputeFeatures(data, timeline, facts.Get<IdleFacts>());
    AddRankFeatures(facts.Get<RanksFacts>(), timeline.wall_ns(), features);
    AddSampleFeatures(facts.Get<SamplesFacts>(), Ms(timeline.wall_ns()), features);
    RuleResults results = ApplyRules(rules, features);
    FindingsFacts out;
    out.diagnosis = Diagnose(features);
    out.findings = std::move(results.findings);
    out.not_assessed = std::move(results.not_assessed);
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
