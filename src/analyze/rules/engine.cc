// SPDX-License-Identifier: Apache-2.0
#include "analyze/rules/engine.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

namespace nl {

namespace {

struct Outcome {
  std::optional<bool> holds;
  std::vector<std::string> missing;  // names that were null
};

class Evaluation {
 public:
  Evaluation(const Rule& rule, const Features& features, const FeatureSubject& subject)
      : rule_(rule), features_(features), subject_(subject) {
    names_.number = [this](const std::string& name) { return Number(name); };
    names_.text = [this](const std::string& name) { return Text(name); };
  }

  std::optional<double> Number(const std::string& name) const {
    if (const auto param = rule_.params.find(name); param != rule_.params.end()) return param->second;
    const std::string_view full = Full(name);
    if (const auto value = subject_.Number(full)) return value;
    return features_.run.Number(full);
  }

  Outcome Where() const {
    Outcome out;
    const auto value = rule_.where.Evaluate([&](const std::string& name) {
      const auto number = Number(name);
      if (!number) out.missing.push_back(std::string(Full(name)));
      return number;
    });
    if (value) out.holds = *value != 0;
    return out;
  }

  Finding Make() const {
    Finding out;
    out.rule = rule_.id;
    out.title = rule_.title;
    out.severity = rule_.severity;
    out.first = rule_.first;
    // A confidence that cannot be computed counts as 0.5.
    out.confidence = std::clamp(rule_.confidence.Evaluate(names_.number).value_or(0.5), 0.0, 1.0);
    if (rule_.impact) out.cost_ms = rule_.impact->Evaluate(names_.number);
    // Work that runs at the same time on several streams, or waits on several threads, sums to more than the
    // wall; what can be saved is at most the wall.
    const double wall_ms = features_.run.Number("run.wall_ms").value_or(HUGE_VAL);
    if (out.cost_ms) out.cost_ms = std::clamp(*out.cost_ms, 0.0, std::max(0.0, wall_ms));
    SetPlace(out);
    out.message = rule_.message.Render(names_) + DevicesText();
    for (const Suggestion& s : rule_.suggest) {
      if (s.when && s.when->Evaluate(names_.number).value_or(0) == 0) continue;
      if (!Knows(s.text)) continue;
      out.suggestions.push_back(s.text.Render(names_));
    }
    out.refs = rule_.refs;
    AddEvidence(rule_.where, out);
    if (rule_.impact) AddEvidence(*rule_.impact, out);
    for (const EvidenceRow& row : subject_.rows)
      out.evidence.push_back({KnownText(row.table), row.row, row.what, row.value, KnownText(row.unit)});
    return out;
  }

 private:
  // With several devices: what the times of a finding with a cost are of.
  std::string DevicesText() const {
    const double devices = features_.run.Number("run.devices").value_or(1);
    if (devices < 2 || !rule_.impact) return "";
    return fmt::format(" Times on the device are means over {:.0f} devices; calls are those of all.",
                       devices);
  }

  static std::string_view Full(std::string_view name) {
    const std::string_view full = FeatureOfShortName(name);
    return full.empty() ? name : full;
  }
  // Empty: a text that was not recorded.
  std::optional<std::string> Text(const std::string& name) const {
    const FeatureInfo* info = FindFeature(Full(name));
    if (info == nullptr || info->unit != "text") return std::nullopt;
    for (const FeatureSubject* from : {&subject_, &features_.run}) {
      const std::string text = from->Text(info->name);
      if (!text.empty()) return text;
    }
    return "";
  }
  // A suggestion about something that was not recorded is none; parts in [[ ]] leave themselves out.
  bool Knows(const TextTemplate& text) const {
    bool optional = false;
    for (const TextTemplate::Part& part : text.parts()) {
      if (!part.is_name && !part.form.empty()) optional = part.form == "[";
      if (!part.is_name || optional) continue;
      const std::optional<std::string> words = Text(part.text);
      if (words ? words->empty() : !Number(part.text)) return false;
    }
    return true;
  }
  void SetPlace(Finding& out) const {
    out.stage = KnownText(subject_.Text("stage.name"));
    if (rule_.scope == RuleScope::kOp) {
      out.stage = KnownText(subject_.Text("op.stage"));
      out.module = KnownText(subject_.Text("op.module"));
      out.op = KnownText(subject_.Text("op.name"));
    } else if (rule_.scope == RuleScope::kKernel) {
      out.stage = KnownText(subject_.Text("kernel.stage"));
      out.module = KnownText(subject_.Text("kernel.module"));
      out.op = KnownText(subject_.Text("kernel.op"));
      out.kernel = KnownText(subject_.Text("kernel.name"));
    }
  }
  void AddEvidence(const Expression& from, Finding& out) const {
    for (const Expression::Name& name : from.names()) {
      if (rule_.params.count(name.text) > 0) continue;
      const std::string full(Full(name.text));
      const auto same = [&](const Evidence& e) { return e.what == full; };
      if (std::any_of(out.evidence.begin(), out.evidence.end(), same)) continue;
      const FeatureInfo* info = FindFeature(full);
      out.evidence.push_back(
          {std::nullopt, std::nullopt, full, Number(name.text), KnownText(info ? info->unit : "")});
    }
  }

  const Rule& rule_;
  const Features& features_;
  const FeatureSubject& subject_;
  RuleNames names_;
};

std::vector<const FeatureSubject*> SubjectsOf(RuleScope scope, const Features& features) {
  std::vector<const FeatureSubject*> out;
  const auto all = [&](const std::vector<FeatureSubject>& list) {
    for (const FeatureSubject& subject : list) out.push_back(&subject);
  };
  switch (scope) {
    case RuleScope::kRun: out.push_back(&features.run); break;
    case RuleScope::kStage: all(features.stages); break;
    case RuleScope::kOp: all(features.ops); break;
    case RuleScope::kKernel: all(features.kernels); break;
    case RuleScope::kCompare: break;
  }
  return out;
}

NotAssessed MissingData(const Rule& rule, const Features& features) {
  NotAssessed out{rule.id, {}, std::nullopt};
  for (const std::string& need : rule.needs) {
    if (features.Has(need)) continue;
    for (const DataKind& kind : DataKinds()) {
      if (kind.name != need) continue;
      out.needs.push_back(std::string(kind.text));
      if (!out.advice) out.advice = std::string(kind.advice);
    }
  }
  return out;
}

std::string_view MissingSubjects(RuleScope scope) {
  switch (scope) {
    case RuleScope::kStage: return "labelled stages";
    case RuleScope::kOp: return "framework operators";
    case RuleScope::kKernel: return "kernels";
    case RuleScope::kCompare: return "a baseline run";
    case RuleScope::kRun: break;
  }
  return "a run";
}

void Apply(const Rule& rule, const Features& features, RuleResults& out) {
  NotAssessed lacking = MissingData(rule, features);
  const std::vector<const FeatureSubject*> subjects = SubjectsOf(rule.scope, features);
  if (lacking.needs.empty() && subjects.empty())
    lacking.needs.push_back(std::string(MissingSubjects(rule.scope)));
  if (!lacking.needs.empty()) {
    out.not_assessed.push_back(std::move(lacking));
    return;
  }
  bool assessed = false;
  std::set<std::string> missing;
  for (const FeatureSubject* subject : subjects) {
    const Evaluation evaluation(rule, features, *subject);
    const Outcome outcome = evaluation.Where();
    if (!outcome.holds) {
      missing.insert(outcome.missing.begin(), outcome.missing.end());
      continue;
    }
    assessed = true;
    if (*outcome.holds) out.findings.push_back(evaluation.Make());
  }
  if (assessed) return;
  if (missing.empty()) missing.insert("a condition without division by zero");
  out.not_assessed.push_back({rule.id, {missing.begin(), missing.end()}, std::nullopt});
}

bool SamePlace(const Finding& a, const Finding& b) {
  const bool a_run = !a.op && !a.kernel, b_run = !b.op && !b.kernel;
  if (a_run || b_run) return true;
  return a.module || b.module ? a.module == b.module : a.op == b.op;
}

// Each cost counts for one finding only: time that covering findings count is subtracted.
void Uncover(const RuleSet& rules, std::vector<Finding>& findings) {
  for (Finding& finding : findings) {
    finding.impact_ms = finding.cost_ms;
    const Rule* rule = rules.Find(finding.rule);
    for (const Finding& other : findings) {
      if (!finding.cost_ms || !other.cost_ms || *other.cost_ms <= 0 || &other == &finding) continue;
      const auto& by = rule->covered_by;
      if (std::find(by.begin(), by.end(), other.rule) == by.end() || !SamePlace(finding, other)) continue;
      finding.impact_ms = std::max(0.0, *finding.impact_ms - *other.cost_ms);
      auto& in = finding.counted_in;
      if (std::find(in.begin(), in.end(), other.rule) == in.end()) in.push_back(other.rule);
    }
    if (finding.impact_ms)
      finding.score = SeverityWeight(finding.severity) * *finding.impact_ms * finding.confidence;
  }
}

void Deduplicate(std::vector<Finding>& findings) {
  using Place = std::optional<std::string>;
  std::map<std::tuple<std::string, Place, Place, Place, Place>, size_t> seen;
  std::vector<Finding> kept;
  for (Finding& f : findings) {
    const auto [it, added] = seen.try_emplace({f.rule, f.stage, f.module, f.op, f.kernel}, kept.size());
    if (added) {
      kept.push_back(std::move(f));
    } else if (f.cost_ms.value_or(-1) > kept[it->second].cost_ms.value_or(-1)) {
      kept[it->second] = std::move(f);
    }
  }
  findings = std::move(kept);
}

}  // namespace

RuleResults ApplyRules(const RuleSet& rules, const Features& features) {
  RuleResults out;
  for (const Rule& rule : rules.rules()) {
    if (!rule.enabled) continue;
    ++out.rules;
    Apply(rule, features, out);
  }
  Deduplicate(out.findings);
  Uncover(rules, out.findings);
  std::stable_sort(out.findings.begin(), out.findings.end(), [](const Finding& a, const Finding& b) {
    if (a.first != b.first) return a.first;
    const double left = a.score.value_or(-1), right = b.score.value_or(-1);
    if (left != right) return left > right;
    const double left_cost = a.cost_ms.value_or(-1), right_cost = b.cost_ms.value_or(-1);
    if (left_cost != right_cost) return left_cost > right_cost;
    return a.rule < b.rule;
  });
  return out;
}

}  // namespace nl
