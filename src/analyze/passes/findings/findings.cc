// SPDX-License-Identifier: Apache-2.0
// Features, then rules, then the diagnosis.
#include "analyze/facts/findings.h"

#include "analyze/facts/ranks.h"
#include "analyze/pass.h"
#include "analyze/passes/findings/diagnosis.h"
#include "analyze/passes/findings/tool_words.h"
#include "analyze/rules/engine.h"

namespace nl {

namespace {

Json NumberOrNull(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json EvidenceJson(const std::vector<Evidence>& list) {
  Json out = Json::array();
  for (const Evidence& e : list) {
    out.push_back({{"table", TextOrNull(e.table)},
                   {"row", e.row ? Json(*e.row) : Json()},
                   {"what", e.what},
                   {"value", NumberOrNull(e.value)},
                   {"unit", TextOrNull(e.unit)}});
  }
  return out;
}

Json FindingJson(const Finding& f) {
  Json out;
  out["rule"] = f.rule;
  out["title"] = f.title;
  out["severity"] = RuleSeverityName(f.severity);
  out["score"] = NumberOrNull(f.score);
  out["confidence"] = f.confidence;
  out["impact_ms"] = NumberOrNull(f.impact_ms);
  out["cost_ms"] = NumberOrNull(f.cost_ms);
  out["counted_in"] = f.counted_in;
  out["stage"] = TextOrNull(f.stage);
  out["module"] = TextOrNull(f.module);
  out["op"] = TextOrNull(f.op);
  out["kernel"] = TextOrNull(f.kernel);
  out["message"] = f.message;
  out["suggestions"] = f.suggestions;
  out["refs"] = f.refs;
  out["evidence"] = EvidenceJson(f.evidence);
  return out;
}

}  // namespace

Json ToJson(const FindingsFacts& facts, const RunData&) {
  const Diagnosis& d = facts.diagnosis;
  Json out;
  out["diagnosis"] = {{"class", d.bound},
                      {"confidence", d.confidence},
                      {"evidence", EvidenceJson(d.evidence)},
                      {"settle", d.settle},
                      {"nearest", TextOrNull(d.nearest)}};
  out["findings"] = Json::array();
  for (const Finding& f : facts.findings) out["findings"].push_back(FindingJson(f));
  out["not_assessed"] = Json::array();
  for (const NotAssessed& n : facts.not_assessed)
    out["not_assessed"].push_back({{"rule", n.rule}, {"needs", n.needs}, {"advice", TextOrNull(n.advice)}});
  out["rules"] = facts.rules;
  out["tool_findings"] = Json::array();
  for (const ToolWord& w : facts.tool_words) {
    out["tool_findings"].push_back({{"tool", w.tool},
                                    {"rule", w.rule},
                                    {"kernel", w.kernel},
                                    {"executions", w.executions},
                                    {"kernel_ms", w.kernel_ms},
                                    {"speedup_pct", NumberOrNull(w.speedup_pct)},
                                    {"scope", TextOrNull(w.scope)},
                                    {"estimated_ms", NumberOrNull(w.estimated_ms)},
                                    {"message", w.message}});
  }
  return out;
}

namespace passes::findings {

namespace {

class FindingsPass final : public Pass {
 public:
  PassInfo Info() const override {
    return {FindingsFacts::kName,
            "What bounds the run, and what rules found in it",
            {TimelineFacts::kName, IdleFacts::kName, RanksFacts::kName}};
  }
  Status Run(const RunData& data, const AnalysisOptions& options, FactBoard& facts) const override {
    NL_ASSIGN(const RuleSet rules, RuleSet::Load(options.rules_files));
    const auto& timeline = facts.Get<TimelineFacts>();
    Features features = ComputeFeatures(data, timeline, facts.Get<IdleFacts>());
    AddRankFeatures(facts.Get<RanksFacts>(), timeline.wall_ns(), features);
    RuleResults results = ApplyRules(rules, features);
    FindingsFacts out;
    out.diagnosis = Diagnose(features);
    out.findings = std::move(results.findings);
    out.not_assessed = std::move(results.not_assessed);
    out.rules = results.rules;
    out.tool_words = ToolWords(data);
    facts.Put(std::move(out));
    return {};
  }
  Json FactsJson(const RunData& data, const FactBoard& facts) const override {
    return ToJson(facts.Get<FindingsFacts>(), data);
  }
};

}  // namespace

const Pass& Describe() {
  static const FindingsPass pass;
  return pass;
}

}  // namespace passes::findings

}  // namespace nl
