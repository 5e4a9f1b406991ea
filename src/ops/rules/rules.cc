// SPDX-License-Identifier: Apache-2.0
// `neurolens rules`: lists the rules, explains one, and checks a rule file.

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "analyze/features/features.h"
#include "analyze/rules/rule.h"
#include "base/terminal.h"
#include "ops/op.h"
#include "ops/open_store.h"
#include "report/text_table.h"

namespace nl::ops::rules {

namespace {

enum class RulesAction : uint8_t { kList, kCheck, kExplain, kNames };
constexpr std::string_view kActions[] = {"list", "check", "explain", "names"};
std::span<const std::string_view> NamesOf(RulesAction) { return kActions; }

struct RuleSuggestion {
  std::optional<std::string> when;
  std::string text;
};
void Describe(Record<RuleSuggestion>& r) {
  r.Name("RuleSuggestion", "One suggestion of a rule");
  r.Field("when", &RuleSuggestion::when, "Condition for showing it; null: always");
  r.Field("text", &RuleSuggestion::text, "The suggestion, a template");
}

struct RuleText {
  std::string id, title;
  RuleScope scope = RuleScope::kRun;
  RuleSeverity severity = RuleSeverity::kMedium;
  std::string where, message;
  std::vector<RuleSuggestion> suggest;
  std::vector<std::string> refs;
  std::optional<std::string> impact;
  std::string confidence;
  std::vector<std::string> needs, covered_by;
  std::map<std::string, double, std::less<>> params;
  bool enabled = true;
  std::string source;
};
void Describe(Record<RuleText>& r) {
  r.Name("Rule", "One rule");
  r.Field("id", &RuleText::id, "Id, stable forever");
  r.Field("title", &RuleText::title, "The problem in a few words");
  r.Field("scope", &RuleText::scope, "What it is applied to");
  r.Field("severity", &RuleText::severity, "Severity of its findings");
  r.Field("where", &RuleText::where, "Condition");
  r.Field("message", &RuleText::message, "Message of its findings, a template");
  r.Field("suggest", &RuleText::suggest, "Suggestions, best first");
  r.Field("refs", &RuleText::refs, "Further reading");
  r.Field("impact", &RuleText::impact, "Expression for the cost in ms; null: unknown");
  r.Field("confidence", &RuleText::confidence, "Expression for the confidence, 0 to 1");
  r.Field("needs", &RuleText::needs, "Kinds of data that it needs");
  r.Field("covered_by", &RuleText::covered_by, "Rules whose findings count the same cost");
  r.Field("params", &RuleText::params, "Thresholds used in its expressions");
  r.Field("enabled", &RuleText::enabled, "The rule is applied");
  r.Field("source", &RuleText::source, "shipped, or file:line");
}

struct RuleName {
  std::string name, unit, doc;
};
void Describe(Record<RuleName>& r) {
  r.Name("RuleName", "One name that rules may use");
  r.Field("name", &RuleName::name, "Name");
  r.Field("unit", &RuleName::unit, "Unit: ms, us, bytes, ratio, count, flag or text");
  r.Field("doc", &RuleName::doc, "Meaning");
}

struct RulesReply {
  RulesAction action = RulesAction::kList;
  std::vector<RuleText> rules;
  std::optional<std::string> file;
  std::vector<std::string> rules_files;
  std::vector<RuleName> names;
};
void Describe(Record<RulesReply>& r) {
  r.Name("RulesReply", "Reply of `neurolens rules`");
  r.Field("action", &RulesReply::action, "What was done");
  r.Field("rules", &RulesReply::rules, "Rules: all (list), those of the file (check), one (explain)");
  r.Field("file", &RulesReply::file, "File that was checked");
  r.Field("rules_files", &RulesReply::rules_files, "Rule files used in addition to the shipped rules");
  r.Field("names", &RulesReply::names, "Names that rules may use (action names)");
}

RuleText TextOf(const Rule& rule) {
  RuleText out;
  out.id = rule.id;
  out.title = rule.title;
  out.scope = rule.scope;
  out.severity = rule.severity;
  out.where = rule.where.text();
  out.message = rule.message.text();
  for (const Suggestion& s : rule.suggest) {
    RuleSuggestion& to = out.suggest.emplace_back();
    if (s.when) to.when = s.when->text();
    to.text = s.text.text();
  }
  out.refs = rule.refs;
  if (rule.impact) out.impact = rule.impact->text();
  out.confidence = rule.confidence.text();
  out.needs = rule.needs;
  out.covered_by = rule.covered_by;
  out.params = rule.params;
  out.enabled = rule.enabled;
  out.source = rule.source;
  return out;
}

class RulesOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "rules";
    info.summary =
        "The rules behind `findings`: list them, explain one, check a rule file, list the names they may use";
    info.choose_when =
        "Choose it to see or change what `findings` checks. docs/rules.md describes the file format.";
    info.example = "neurolens rules explain sync_in_loop";
    info.reply = ReplyOf<RulesReply>();
    return info;
  }

  void Bind(ParamBinder& b) override {
    b.Add("action", action_, "What to do").Positional().Choices({"list", "check", "explain", "names"});
    b.Add("subject", subject_, "Rule file to check, or id of the rule to explain").Positional();
    b.Add("rules", files_, "YAML file with rules to add or override").Path();
  }

  Result<Reply> Run(OpContext&) override {
    RulesReply reply;
    const auto at = std::find(std::begin(kActions), std::end(kActions), action_);
    reply.action = static_cast<RulesAction>(at - std::begin(kActions));
    if (reply.action == RulesAction::kNames) {
      for (const FeatureInfo& f : FeatureNames())
        reply.names.push_back({std::string(f.name), std::string(f.unit), std::string(f.doc)});
      return Reply::Of(std::move(reply));
    }
    NL_TRY(CheckSubject(reply.action));
    const bool check = reply.action == RulesAction::kCheck;
    std::error_code ignored;
    const std::string project = FindProjectRules(std::filesystem::current_path(ignored).string());
    reply.rules_files = files_;
    if (!project.empty() && !check) reply.rules_files.insert(reply.rules_files.begin(), project);
    if (check) reply.rules_files.push_back(subject_);
    NL_ASSIGN(const RuleSet set, RuleSet::Load(reply.rules_files));
    if (reply.action == RulesAction::kExplain) {
      const Rule* rule = set.Find(subject_);
      if (rule == nullptr)
        return NotFound(fmt::format("no rule '{}'", subject_)).Hint("`neurolens rules list` lists all rules");
      reply.rules.push_back(TextOf(*rule));
      return Reply::Of(std::move(reply));
    }
    for (const Rule& rule : set.rules()) {
      if (!check || rule.source.starts_with(subject_ + ":")) reply.rules.push_back(TextOf(rule));
    }
    if (check) reply.file = subject_;
    return Reply::Of(std::move(reply));
  }

  std::string Text(const Reply& any, const TextStyle& style) const override {
    const auto& r = any.As<RulesReply>();
    if (r.action == RulesAction::kExplain) return ExplainText(r.rules[0], style.width);
    if (r.action == RulesAction::kNames) return NamesText(r.names, style);
    std::string out;
    if (r.action == RulesAction::kCheck) {
      out = fmt::format("{}: valid, {} rule{} added or changed\n", PrintableText(r.file.value_or("")),
                        r.rules.size(), r.rules.size() == 1 ? "" : "s");
      if (r.rules.empty()) return out;
    }
    TextTable table({{"RULE", Align::kLeft, false, 0},
                     {"SCOPE", Align::kLeft, false, 0},
                     {"SEVERITY", Align::kLeft, false, 0},
                     {"TITLE", Align::kLeft, true, 16},
                     {"SOURCE", Align::kLeft, true, 8}});
    for (const RuleText& rule : r.rules) {
      table.AddRow({rule.id, std::string(RuleScopeName(rule.scope)),
                    std::string(RuleSeverityName(rule.severity)), rule.title,
                    rule.enabled ? rule.source : "disabled"});
    }
    return out + table.Render(style.width, style.color);
  }

 private:
  Status CheckSubject(RulesAction action) const {
    if (subject_.empty() && action == RulesAction::kCheck)
      return InvalidInput("rules check needs a FILE").Hint("neurolens rules check my_rules.yaml");
    if (subject_.empty() && action == RulesAction::kExplain)
      return InvalidInput("rules explain needs the ID of a rule")
          .Hint("`neurolens rules list` lists all rules");
    if (!subject_.empty() && action == RulesAction::kList)
      return InvalidInput(fmt::format("rules list: unexpected argument '{}'", subject_))
          .Hint(fmt::format("to explain a rule: neurolens rules explain {}", subject_));
    return {};
  }

  static std::string ExplainText(const RuleText& rule, int width) {
    const auto line = [width](const std::string& text) { return Wrap(PrintableText(text), width, 4) + "\n"; };
    std::string out = line(fmt::format("{}: {} ({}, {}; {})", rule.id, rule.title, RuleScopeName(rule.scope),
                                       RuleSeverityName(rule.severity), rule.source));
    out += line("condition: " + rule.where);
    std::vector<std::string> params;
    for (const auto& [name, value] : rule.params) params.push_back(fmt::format("{} = {}", name, value));
    if (!params.empty()) out += line(fmt::format("parameters: {}", fmt::join(params, ", ")));
    if (rule.impact) out += line("impact in ms: " + *rule.impact);
    out += line("confidence: " + rule.confidence);
    for (const std::string& need : rule.needs) {
      for (const DataKind& kind : DataKinds()) {
        if (kind.name == need) out += line(fmt::format("needs {}: {}", kind.text, kind.advice));
      }
    }
    for (const std::string& other : rule.covered_by)
      out += line(fmt::format("{} counts this cost if it fires too", other));
    out += line("message: " + rule.message);
    for (const RuleSuggestion& s : rule.suggest)
      out += line("  - " + (s.when ? "(when " + *s.when + ") " : "") + s.text);
    for (const std::string& ref : rule.refs) out += line("see " + ref);
    return out;
  }

  static std::string NamesText(const std::vector<RuleName>& names, const TextStyle& style) {
    TextTable table({{"NAME", Align::kLeft, false, 0},
                     {"UNIT", Align::kLeft, false, 0},
                     {"MEANING", Align::kLeft, true, 20}});
    for (const RuleName& n : names) table.AddRow({n.name, n.unit, n.doc});
    return table.Render(style.width, style.color);
  }

  std::string action_ = "list", subject_;
  std::vector<std::string> files_;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<RulesOp>(); }

}  // namespace nl::ops::rules
