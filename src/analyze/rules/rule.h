// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rule: one claim a run can be checked for, as a rule file states it, with its
// expressions parsed and its texts cut into parts. RuleSet: the shipped rules and what
// users added or overrode, by id.
// Thread rule: read-only once loaded. Ownership: plain values.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/rules/expression.h"
#include "base/result.h"

namespace nl {

enum class RuleScope : uint8_t { kRun, kStage, kOp, kKernel, kCompare };
enum class RuleSeverity : uint8_t { kLow = 1, kMedium = 2, kHigh = 3 };  // the value is the weight
std::string_view RuleScopeName(RuleScope scope);
std::string_view RuleSeverityName(RuleSeverity severity);
std::optional<RuleScope> ParseRuleScope(std::string_view name);
std::optional<RuleSeverity> ParseRuleSeverity(std::string_view name);

// What names stand for while one rule looks at one subject.
struct RuleNames {
  std::function<std::optional<double>(const std::string&)> number;
  std::function<std::optional<std::string>(const std::string&)> text;
};

// "{op.name} took {op.device_ms:ms} ({op.share:pct})": text with names in it. Forms: .Nf,
// pct (a ratio as percent), ms, us, bytes, count; none prints the number shortly.
class TextTemplate {
 public:
  struct Part {
    std::string text;  // literal, or the name
    std::string form;
    bool is_name = false;
    size_t column = 1;
  };
  static std::optional<TextTemplate> Parse(std::string_view text, TextProblem& problem);
  std::string Render(const RuleNames& names) const;  // null prints as "unknown"
  const std::vector<Part>& parts() const { return parts_; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::vector<Part> parts_;
};

struct Suggestion {
  std::optional<Expression> when;  // given only where this is true
  TextTemplate text;
};

struct Rule {
  std::string id;
  RuleScope scope = RuleScope::kRun;
  Expression where = Expression::Number(0);
  RuleSeverity severity = RuleSeverity::kMedium;
  std::string title;
  TextTemplate message;
  std::vector<Suggestion> suggest;
  std::vector<std::string> refs;
  std::optional<Expression> impact;  // ms; none: not known
  Expression confidence = Expression::Number(1);
  std::vector<std::string> needs;       // kinds of data (DataKinds())
  std::vector<std::string> covered_by;  // rules whose findings already count this cost
  std::map<std::string, double, std::less<>> params;
  bool enabled = true;
  bool first = false;  // listed above everything else
  std::string source;  // "shipped", or file:line
};

class RuleSet {
 public:
  // The rules built into the program.
  static Result<RuleSet> Shipped();
  // The shipped rules, then each file in order. A bad file is refused whole:
  // InvalidInput "file:line: ..., column N of 'where'".
  static Result<RuleSet> Load(const std::vector<std::string>& files);

  Status AddFile(const std::string& path);
  Status AddText(std::string_view yaml, const std::string& source);

  const std::vector<Rule>& rules() const { return rules_; }
  const Rule* Find(std::string_view id) const;

 private:
  std::vector<Rule> rules_;
};

// Kinds of data a rule may say it needs, with what to do to have it.
struct DataKind {
  std::string_view name, text, advice;
};
const std::vector<DataKind>& DataKinds();

// The nearest .neurolens_rules.yaml from `directory` upwards (not beyond the root of a
// Git work tree); "" when there is none.
std::string FindProjectRules(const std::string& directory);

}  // namespace nl
