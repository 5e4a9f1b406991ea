// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rule: one claim that a run can be checked for, read from a rule file, with its
// expressions and texts parsed. RuleSet: the shipped rules and those that users added or
// overrode, by id.
// Thread rule: read-only once loaded. Ownership: plain values.

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/replay/fixes.h"
#include "analyze/rules/expression.h"
#include "base/result.h"

namespace nl {

enum class RuleScope : uint8_t { kRun, kStage, kOp, kKernel, kGap, kCompare };
enum class RuleSeverity : uint8_t { kLow, kMedium, kHigh };
std::span<const std::string_view> NamesOf(RuleScope);
std::span<const std::string_view> NamesOf(RuleSeverity);
std::string_view RuleScopeName(RuleScope scope);
std::string_view RuleSeverityName(RuleSeverity severity);
constexpr double SeverityWeight(RuleSeverity severity) { return static_cast<double>(severity) + 1; }
std::optional<RuleScope> ParseRuleScope(std::string_view name);
std::optional<RuleSeverity> ParseRuleSeverity(std::string_view name);

// The values of names while one rule is applied to one subject.
struct RuleNames {
  std::function<std::optional<double>(const std::string&)> number;
  std::function<std::optional<std::string>(const std::string&)> text;
};

// "{op.name} took {op.device_ms:ms} ({op.share:pct})": text with names in it. Forms: .Nf,
// pct (a ratio as percent), ms, us, bytes, count; without a form, up to 4 digits.
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
  std::optional<Expression> when;  // shown only if true
  TextTemplate text;
};

// What the rule's first suggestion does to a step (analyze/replay/fixes.h).
struct RuleFix {
  replay::FixKind kind = replay::FixKind::kGraphs;
  std::string of;                  // name of the subject's targets; "" where the fix needs none
  std::optional<Expression> left;  // share of their time that stays; none: 0
  std::vector<std::string> after;  // rules whose findings make it impossible until they are fixed
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
  std::optional<Expression> impact;  // ms; none: unknown
  std::optional<RuleFix> fix;        // none: the gain is not predicted
  Expression confidence = Expression::Number(1);
  std::vector<std::string> needs;       // kinds of data (DataKinds())
  std::vector<std::string> covered_by;  // rules whose findings count this cost already
  std::map<std::string, double, std::less<>> params;
  bool enabled = true;
  bool first = false;         // listed before all other findings
  bool last = false;          // listed after them: it does not change the program
  bool of_recording = false;  // judged on the whole recording where the others are judged on the steady phase
  std::string source;         // "shipped", or file:line
};

class RuleSet {
 public:
  // The rules built into the program.
  static Result<RuleSet> Shipped();
  // The shipped rules, then each file in order. A file with an error is rejected as a whole:
  // InvalidInput "file:line: 'where', column N: ...".
  static Result<RuleSet> Load(const std::vector<std::string>& files);

  Status AddFile(const std::string& path);
  Status AddText(std::string_view yaml, const std::string& source);

  const std::vector<Rule>& rules() const { return rules_; }
  const Rule* Find(std::string_view id) const;

 private:
  std::vector<Rule> rules_;
};

// Kinds of data that a rule may need, with advice on how to record them.
struct DataKind {
  std::string_view name, text, advice;
};
const std::vector<DataKind>& DataKinds();

// The nearest .neurolens_rules.yaml from `directory` upwards (not above the root of a Git
// work tree); "" when there is none.
std::string FindProjectRules(const std::string& directory);

}  // namespace nl
