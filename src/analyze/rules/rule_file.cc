// SPDX-License-Identifier: Apache-2.0
// Rule files: YAML into Rule. Every expression is parsed and every name is checked here, so
// that applying a rule cannot fail.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <span>
#include <system_error>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "analyze/features/features.h"
#include "analyze/rules/rule.h"
#include "analyze/rules/rule_names.h"
#include "base/ascii.h"
#include "base/file_ops.h"

namespace nl {

namespace embedded {
std::span<const std::string_view> RuleFiles();  // rules/*.yaml
}  // namespace embedded

namespace {

constexpr int64_t kMaxRuleFileBytes = 1 << 20;
constexpr size_t kFewestSuggestions = 3;
constexpr std::string_view kKeys[] = {"id",      "scope",        "where",  "severity", "title",
                                      "message", "suggest",      "refs",   "impact",   "confidence",
                                      "needs",   "covered_by",   "params", "enabled",  "first",
                                      "last",    "of_recording", "fix"};
constexpr std::string_view kShortKeys[] = {"name", "condition", "suggestion", "confidence_weight",
                                           "severity"};

int LineOf(const YAML::Node& node) { return node.Mark().line + 1; }

// A link whose target is neither in the link's folder nor below it.
bool LeadsOutOfItsFolder(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ec;
  const fs::path target = fs::canonical(path, ec);
  if (ec) return true;
  const fs::path folder = fs::canonical(fs::absolute(path, ec).parent_path(), ec);
  if (ec) return true;
  const std::string below = target.lexically_relative(folder).string();
  return below.empty() || below == ".." || below.rfind("../", 0) == 0;
}

bool IsId(std::string_view id) {
  if (id.empty() || id.size() > 64 || id[0] < 'a' || id[0] > 'z') return false;
  return std::all_of(id.begin(), id.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; });
}

class FileReader {
 public:
  FileReader(std::string source, std::vector<Rule> known)
      : source_(std::move(source)), rules_(std::move(known)) {}

  Status Read(const YAML::Node& root) {
    if (!root.IsDefined() || root.IsNull()) return {};
    if (root.IsSequence()) return ReadRules(root);
    if (!root.IsMap()) return Wrong(LineOf(root), "expected 'rules:' with a list of rules");
    for (const auto& item : root) {
      const std::string key = item.first.IsScalar() ? item.first.Scalar() : "";
      if (key == "version") {
        if (!item.second.IsScalar() || item.second.Scalar() != "1")
          return Wrong(LineOf(item.first), "unsupported version; this program reads version 1 of rule files");
      } else if (key == "rules") {
        NL_TRY(ReadRules(item.second));
      } else if (key == "bottleneck_rules") {
        NL_TRY(ReadShortRules(item.second));
      } else {
        return Wrong(LineOf(item.first),
                     fmt::format("unknown key '{}'; use version, rules or bottleneck_rules", key));
      }
    }
    return {};
  }
  std::vector<Rule> Take() { return std::move(rules_); }

 private:
  Error Wrong(int line, std::string_view what) const {
    return InvalidInput(fmt::format("{}:{}: {}", source_, std::max(line, 1), what));
  }
  Error Wrong(const YAML::Node& node, std::string_view field, const TextProblem& problem) const {
    return Wrong(LineOf(node), fmt::format("'{}', column {}: {}", field, problem.column, problem.message));
  }

  Status CheckList(const YAML::Node& list, std::string_view key) const {
    if (list.IsSequence() || list.IsNull()) return {};
    return Wrong(LineOf(list), fmt::format("'{}' must be a list", key));
  }

  Status ReadRules(const YAML::Node& list) {
    NL_TRY(CheckList(list, "rules"));
    for (const YAML::Node& node : list) NL_TRY(ReadRule(node));
    return {};
  }

  template <size_t N>
  Status CheckKeys(const YAML::Node& node, const std::string_view (&known)[N]) const {
    std::vector<std::string> seen;
    for (const auto& item : node) {
      const std::string key = item.first.IsScalar() ? item.first.Scalar() : "";
      if (std::find(std::begin(known), std::end(known), key) == std::end(known)) {
        return Wrong(LineOf(item.first),
                     fmt::format("unknown key '{}' in a rule; use {}", key, fmt::join(known, ", ")));
      }
      if (std::find(seen.begin(), seen.end(), key) != seen.end())
        return Wrong(LineOf(item.first), fmt::format("duplicate key '{}'", key));
      seen.push_back(key);
    }
    return {};
  }

  Result<std::string> Scalar(const YAML::Node& rule, const char* key) const {
    const YAML::Node node = rule[key];
    if (!node.IsDefined()) return Wrong(LineOf(rule), fmt::format("a rule needs '{}'", key));
    if (!node.IsScalar() || node.Scalar().empty())
      return Wrong(LineOf(node), fmt::format("'{}' must be text or a number", key));
    return node.Scalar();
  }

  Rule* Known(const std::string& id) {
    for (Rule& rule : rules_) {
      if (rule.id == id) return &rule;
    }
    return nullptr;
  }
  Status Place(Rule rule, int line) {
    if (std::find(here_.begin(), here_.end(), rule.id) != here_.end())
      return Wrong(line, fmt::format("duplicate rule '{}' in this file", rule.id));
    here_.push_back(rule.id);
    if (Rule* old = Known(rule.id)) {
      *old = std::move(rule);
    } else {
      rules_.push_back(std::move(rule));
    }
    return {};
  }

  // Overrides the keys of an existing rule; a new rule must be complete.
  Status ReadRule(const YAML::Node& node) {
    if (!node.IsMap())
      return Wrong(LineOf(node), "a rule must be a mapping with id, scope, where, message and suggest");
    NL_TRY(CheckKeys(node, kKeys));
    NL_ASSIGN(const std::string id, Scalar(node, "id"));
    if (!IsId(id)) {
      return Wrong(
          LineOf(node["id"]),
          fmt::format("invalid rule id '{}': use lowercase letters, digits and '_', starting with a letter",
                      id));
    }
    const Rule* old = Known(id);
    Rule rule = old != nullptr ? *old : Rule{};
    rule.id = id;
    rule.source = source_ == "shipped" ? source_ : fmt::format("{}:{}", source_, LineOf(node));
    if (old == nullptr) {
      for (const char* key : {"scope", "where", "message", "suggest"}) {
        if (!node[key].IsDefined()) return Wrong(LineOf(node), fmt::format("rule '{}' needs '{}'", id, key));
      }
    }
    NL_TRY(ReadPlain(node, rule));
    NL_TRY(ReadParams(node["params"], rule));
    NL_TRY(ReadExpressions(node, rule));
    NL_TRY(ReadTexts(node, rule));
    NL_TRY(Recheck(node, rule));
    return Place(std::move(rule), LineOf(node));
  }

  Status ReadPlain(const YAML::Node& node, Rule& rule) {
    if (node["scope"].IsDefined()) {
      NL_ASSIGN(const std::string name, Scalar(node, "scope"));
      const auto scope = ParseRuleScope(name);
      if (!scope)
        return Wrong(LineOf(node["scope"]),
                     fmt::format("unknown scope '{}'; use run, stage, op, kernel, gap or compare", name));
      rule.scope = *scope;
    }
    if (node["severity"].IsDefined()) {
      NL_ASSIGN(const std::string name, Scalar(node, "severity"));
      const auto severity = ParseRuleSeverity(name);
      if (!severity)
        return Wrong(LineOf(node["severity"]),
                     fmt::format("unknown severity '{}'; use low, medium or high", name));
      rule.severity = *severity;
    }
    const std::pair<const char*, bool*> flags[] = {{"enabled", &rule.enabled},
                                                   {"first", &rule.first},
                                                   {"last", &rule.last},
                                                   {"of_recording", &rule.of_recording}};
    for (const auto& [key, flag] : flags) {
      if (!node[key].IsDefined()) continue;
      NL_ASSIGN(const std::string value, Scalar(node, key));
      if (value != "true" && value != "false")
        return Wrong(LineOf(node[key]), fmt::format("'{}' must be true or false", key));
      *flag = value == "true";
    }
    if (node["title"].IsDefined()) {
      NL_ASSIGN(rule.title, Scalar(node, "title"));
    } else if (rule.title.empty()) {
      rule.title = rule.id;
      std::replace(rule.title.begin(), rule.title.end(), '_', ' ');
    }
    NL_TRY(ReadTextList(node["refs"], "refs", rule.refs));
    NL_TRY(ReadTextList(node["covered_by"], "covered_by", rule.covered_by));
    NL_TRY(ReadTextList(node["needs"], "needs", rule.needs));
    for (const std::string& need : rule.needs) {
      const auto& kinds = DataKinds();
      if (std::any_of(kinds.begin(), kinds.end(), [&](const DataKind& k) { return k.name == need; }))
        continue;
      std::vector<std::string_view> names;
      for (const DataKind& kind : kinds) names.push_back(kind.name);
      return Wrong(LineOf(node["needs"]),
                   fmt::format("unknown data '{}' in 'needs'; use {}", need, fmt::join(names, ", ")));
    }
    return {};
  }

  Status ReadTextList(const YAML::Node& list, std::string_view key, std::vector<std::string>& to) const {
    if (!list.IsDefined()) return {};
    NL_TRY(CheckList(list, key));
    to.clear();
    for (const YAML::Node& item : list) {
      if (!item.IsScalar()) return Wrong(LineOf(item), fmt::format("'{}' must be a list of text", key));
      to.push_back(item.Scalar());
    }
    return {};
  }

  Status ReadParams(const YAML::Node& node, Rule& rule) {
    if (!node.IsDefined()) return {};
    if (!node.IsMap()) return Wrong(LineOf(node), "'params' must be a mapping from names to numbers");
    for (const auto& item : node) {
      const std::string name = item.first.IsScalar() ? item.first.Scalar() : "";
      if (!IsId(name)) return Wrong(LineOf(item.first), fmt::format("invalid parameter name '{}'", name));
      const std::string text = item.second.IsScalar() ? item.second.Scalar() : "";
      double value = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
        return Wrong(LineOf(item.first), fmt::format("parameter '{}' must be a number", name));
      rule.params[name] = value;
    }
    return {};
  }

  Result<Expression> ReadExpression(const YAML::Node& node, std::string_view field, const Rule& rule) const {
    if (!node.IsScalar()) return Wrong(LineOf(node), fmt::format("'{}' must be an expression", field));
    TextProblem problem;
    std::optional<Expression> parsed = Expression::Parse(node.Scalar(), problem);
    if (!parsed) return Wrong(node, field, problem);
    for (const Expression::Name& name : parsed->names()) {
      if (!CheckRuleName(name.text, name.column, rule, false, problem)) return Wrong(node, field, problem);
    }
    return *std::move(parsed);
  }

  Result<Expression> ReadWhere(const YAML::Node& node, const Rule& rule) const {
    const auto list = [&](const YAML::Node& from, bool all) -> Result<Expression> {
      NL_TRY(CheckList(from, all ? "all" : "any"));
      std::vector<Expression> parts;
      for (const YAML::Node& item : from) {
        NL_ASSIGN(Expression part, ReadExpression(item, "where", rule));
        parts.push_back(std::move(part));
      }
      if (parts.empty()) return Wrong(LineOf(from), "'where' has no condition");
      return Expression::Join(parts, all);
    };
    if (node.IsSequence()) return list(node, true);
    if (!node.IsMap()) return ReadExpression(node, "where", rule);
    std::vector<Expression> parts;
    for (const auto& item : node) {
      const std::string key = item.first.IsScalar() ? item.first.Scalar() : "";
      if (key != "all" && key != "any")
        return Wrong(LineOf(item.first), fmt::format("unknown key '{}' in 'where'; use all or any", key));
      NL_ASSIGN(Expression part, list(item.second, key == "all"));
      parts.push_back(std::move(part));
    }
    if (parts.empty()) return Wrong(LineOf(node), "'where' has no condition");
    return Expression::Join(parts, true);
  }

  Status ReadExpressions(const YAML::Node& node, Rule& rule) {
    if (node["where"].IsDefined()) {
      NL_ASSIGN(rule.where, ReadWhere(node["where"], rule));
    }
    if (node["impact"].IsDefined()) {
      NL_ASSIGN(rule.impact, ReadExpression(node["impact"], "impact", rule));
    }
    if (node["confidence"].IsDefined()) {
      NL_ASSIGN(rule.confidence, ReadExpression(node["confidence"], "confidence", rule));
    }
    return ReadFix(node["fix"], rule);
  }

  // fix: {change: kernels, of: chain, left: op.chain_left}
  Status ReadFix(const YAML::Node& node, Rule& rule) const {
    if (!node.IsDefined()) return {};
    if (!node.IsMap()) return Wrong(LineOf(node), "'fix' must be a mapping with change, of, left and after");
    static constexpr std::string_view kFixKeys[] = {"change", "of", "left", "after"};
    NL_TRY(CheckKeys(node, kFixKeys));
    NL_ASSIGN(const std::string name, Scalar(node, "change"));
    const auto kind = replay::ParseFix(name);
    if (!kind) {
      return Wrong(LineOf(node["change"]),
                   fmt::format("unknown change '{}'; use {}", name, fmt::join(replay::FixNames(), ", ")));
    }
    RuleFix fix;
    fix.kind = *kind;
    if (node["of"].IsDefined()) {
      NL_ASSIGN(fix.of, Scalar(node, "of"));
    }
    if (node["left"].IsDefined()) {
      NL_ASSIGN(fix.left, ReadExpression(node["left"], "left", rule));
    }
    NL_TRY(ReadTextList(node["after"], "after", fix.after));
    rule.fix = std::move(fix);
    return {};
  }

  Result<TextTemplate> ReadTemplate(const YAML::Node& node, std::string_view field, const Rule& rule) const {
    if (!node.IsScalar() || node.Scalar().empty())
      return Wrong(LineOf(node), fmt::format("'{}' must be text", field));
    TextProblem problem;
    std::optional<TextTemplate> parsed = TextTemplate::Parse(node.Scalar(), problem);
    if (!parsed) return Wrong(node, field, problem);
    for (const TextTemplate::Part& part : parsed->parts()) {
      if (part.is_name && !CheckRuleName(part.text, part.column, rule, true, problem))
        return Wrong(node, field, problem);
    }
    return *std::move(parsed);
  }

  Status ReadTexts(const YAML::Node& node, Rule& rule) {
    if (node["message"].IsDefined()) {
      NL_ASSIGN(rule.message, ReadTemplate(node["message"], "message", rule));
    }
    const YAML::Node list = node["suggest"];
    if (!list.IsDefined()) return {};
    NL_TRY(CheckList(list, "suggest"));
    rule.suggest.clear();
    for (const YAML::Node& item : list) {
      Suggestion suggestion;
      if (item.IsMap()) {
        for (const auto& pair : item) {
          const std::string key = pair.first.IsScalar() ? pair.first.Scalar() : "";
          if (key != "when" && key != "text")
            return Wrong(LineOf(pair.first),
                         fmt::format("unknown key '{}' in a suggestion; use when and text", key));
        }
        if (!item["when"].IsDefined() || !item["text"].IsDefined())
          return Wrong(LineOf(item), "a suggestion needs when and text");
        NL_ASSIGN(suggestion.when, ReadExpression(item["when"], "when", rule));
        NL_ASSIGN(suggestion.text, ReadTemplate(item["text"], "suggest", rule));
      } else {
        NL_ASSIGN(suggestion.text, ReadTemplate(item, "suggest", rule));
      }
      rule.suggest.push_back(std::move(suggestion));
    }
    if (rule.suggest.size() < kFewestSuggestions)
      return Wrong(LineOf(list),
                   fmt::format("rule '{}' needs at least {} suggestions", rule.id, kFewestSuggestions));
    return {};
  }

  // With a changed scope, every name in the kept texts and expressions must still be available.
  Status Recheck(const YAML::Node& node, const Rule& rule) const {
    TextProblem problem;
    const auto check = [&](const Expression& e, std::string_view field) -> Status {
      for (const Expression::Name& name : e.names()) {
        if (!CheckRuleName(name.text, name.column, rule, false, problem)) return Wrong(node, field, problem);
      }
      return {};
    };
    NL_TRY(check(rule.where, "where"));
    if (rule.impact) NL_TRY(check(*rule.impact, "impact"));
    NL_TRY(check(rule.confidence, "confidence"));
    const auto check_text = [&](const TextTemplate& text, std::string_view field) -> Status {
      for (const TextTemplate::Part& part : text.parts()) {
        if (part.is_name && !CheckRuleName(part.text, part.column, rule, true, problem))
          return Wrong(node, field, problem);
      }
      return {};
    };
    NL_TRY(check_text(rule.message, "message"));
    for (const Suggestion& suggestion : rule.suggest) {
      NL_TRY(check_text(suggestion.text, "suggest"));
      if (suggestion.when) NL_TRY(check(*suggestion.when, "when"));
    }
    return {};
  }

  Status ReadShortRules(const YAML::Node& list) {
    NL_TRY(CheckList(list, "bottleneck_rules"));
    for (const YAML::Node& node : list) NL_TRY(ReadShortRule(node));
    return {};
  }

  Status ReadShortRule(const YAML::Node& node) {
    if (!node.IsMap())
      return Wrong(LineOf(node), "a rule must be a mapping with name, condition and suggestion");
    NL_TRY(CheckKeys(node, kShortKeys));
    Rule rule;
    NL_ASSIGN(rule.title, Scalar(node, "name"));
    for (const char c : rule.title) {
      const char small = ToLower(c);
      rule.id += (small >= 'a' && small <= 'z') || (small >= '0' && small <= '9') ? small : '_';
    }
    if (!IsId(rule.id))
      return Wrong(LineOf(node["name"]), fmt::format("cannot make a rule id from '{}'", rule.title));
    rule.source = fmt::format("{}:{}", source_, LineOf(node));
    if (node["severity"].IsDefined()) NL_TRY(ReadPlainSeverity(node, rule));
    NL_ASSIGN(const std::string condition, Scalar(node, "condition"));
    NL_ASSIGN(const std::string suggestion, Scalar(node, "suggestion"));
    rule.scope = ScopeOf(condition);
    NL_ASSIGN(rule.where, ReadExpression(node["condition"], "condition", rule));
    if (node["confidence_weight"].IsDefined()) {
      NL_ASSIGN(rule.confidence, ReadExpression(node["confidence_weight"], "confidence_weight", rule));
    }
    // The first value in ms that the condition uses is the cost.
    for (const Expression::Name& name : rule.where.names()) {
      const std::string_view full = FeatureOfShortName(name.text);
      const FeatureInfo* info = FindFeature(full.empty() ? std::string_view(name.text) : full);
      if (info == nullptr || info->unit != "ms" || info->name == "run.wall_ms") continue;
      TextProblem ignored;
      rule.impact = Expression::Parse(name.text, ignored);
      break;
    }
    NL_ASSIGN(rule.message, PlainTemplate(node["condition"], rule.title + ": " + condition));
    NL_ASSIGN(Suggestion first, PlainSuggestion(node["suggestion"], suggestion));
    rule.suggest.push_back(std::move(first));
    return Place(std::move(rule), LineOf(node));
  }

  Status ReadPlainSeverity(const YAML::Node& node, Rule& rule) const {
    NL_ASSIGN(const std::string name, Scalar(node, "severity"));
    const auto severity = ParseRuleSeverity(name);
    if (!severity)
      return Wrong(LineOf(node["severity"]),
                   fmt::format("unknown severity '{}'; use low, medium or high", name));
    rule.severity = *severity;
    return {};
  }

  static RuleScope ScopeOf(const std::string& condition) {
    TextProblem ignored;
    const std::optional<Expression> parsed = Expression::Parse(condition, ignored);
    if (!parsed) return RuleScope::kRun;
    for (const Expression::Name& name : parsed->names()) {
      const std::string_view full = FeatureOfShortName(name.text);
      const std::string_view text = full.empty() ? std::string_view(name.text) : full;
      const std::string_view group = text.substr(0, text.find('.'));
      if (group == "op" || group == "features") return RuleScope::kOp;
      if (group == "kernel") return RuleScope::kKernel;
      if (group == "stage") return RuleScope::kStage;
    }
    return RuleScope::kRun;
  }

  // Text of the short form is not a template: braces are literal.
  Result<TextTemplate> PlainTemplate(const YAML::Node& node, const std::string& text) const {
    std::string escaped;
    for (const char c : text) escaped.append(c == '{' || c == '}' ? 2 : 1, c);
    TextProblem problem;
    std::optional<TextTemplate> parsed = TextTemplate::Parse(escaped, problem);
    if (!parsed) return Wrong(node, "text", problem);
    return *std::move(parsed);
  }
  Result<Suggestion> PlainSuggestion(const YAML::Node& node, const std::string& text) const {
    Suggestion out;
    NL_ASSIGN(out.text, PlainTemplate(node, text));
    return out;
  }

  std::string source_;
  std::vector<Rule> rules_;
  std::vector<std::string> here_;  // ids of this file
};

}  // namespace

Status RuleSet::AddText(std::string_view yaml, const std::string& source) {
  // The only place where exceptions of yaml-cpp are caught.
  try {
    FileReader reader(source, rules_);
    NL_TRY(reader.Read(YAML::Load(std::string(yaml))));
    rules_ = reader.Take();
    return {};
  } catch (const YAML::Exception& e) {
    return InvalidInput(
        fmt::format("{}:{}: not valid YAML: {}", source, std::max(e.mark.line, 0) + 1, e.msg));
  }
}

Status RuleSet::AddFile(const std::string& path) {
  NL_ASSIGN(const std::string text, ReadWholeFile(path, kMaxRuleFileBytes));
  Status status = AddText(text, path);
  // A stranger's project may hold a link to any file of the user: an error must not show what is in it.
  if (status.ok() || !LeadsOutOfItsFolder(path)) return status;
  return InvalidInput(
             fmt::format("{} links to a file in another folder, which is not a valid rule file", path))
      .Hint("run `neurolens rules check` on that file to see the line");
}

Result<RuleSet> RuleSet::Shipped() {
  // Read once in a process: that takes longer than the analysis of a small run.
  static const Result<RuleSet> shipped = []() -> Result<RuleSet> {
    RuleSet out;
    for (const std::string_view text : embedded::RuleFiles()) NL_TRY(out.AddText(text, "shipped"));
    return out;
  }();
  return shipped;
}

Result<RuleSet> RuleSet::Load(const std::vector<std::string>& files) {
  NL_ASSIGN(RuleSet out, Shipped());
  for (const std::string& file : files) NL_TRY(out.AddFile(file));
  return out;
}

}  // namespace nl
