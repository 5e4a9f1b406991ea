// SPDX-License-Identifier: Apache-2.0
#include "analyze/rules/rule_names.h"

#include <fmt/format.h>

#include "analyze/features/features.h"
#include "base/near_names.h"

namespace nl {

namespace {

// Whether a scope has the names of a group.
bool InScope(std::string_view group, RuleScope scope) {
  switch (scope) {
    case RuleScope::kRun: return group == "run";
    case RuleScope::kStage: return group == "run" || group == "stage";
    case RuleScope::kOp: return group == "run" || group == "op" || group == "features";
    case RuleScope::kKernel: return group == "run" || group == "kernel";
    case RuleScope::kGap: return group == "run" || group == "gap";
    case RuleScope::kCompare: return group == "run" || group == "op" || group == "delta";
  }
  return false;
}

std::string GuessFeature(std::string_view name) {
  std::vector<std::string> names;
  for (const FeatureInfo& info : FeatureNames()) names.emplace_back(info.name);
  const std::string guess = DidYouMean(Nearest(name, names));
  return guess.empty() ? "" : "; " + guess;
}

}  // namespace

bool CheckRuleName(const std::string& name, size_t column, const Rule& rule, bool text_too,
                   TextProblem& problem) {
  if (rule.params.count(name) > 0) return true;
  const std::string_view full = FeatureOfShortName(name);
  const FeatureInfo* info = FindFeature(full.empty() ? std::string_view(name) : full);
  if (info == nullptr) {
    problem = {column, fmt::format("unknown name '{}'{}", name.substr(0, 100), GuessFeature(name))};
    return false;
  }
  const std::string_view group = info->name.substr(0, info->name.find('.'));
  if (!InScope(group, rule.scope)) {
    problem = {column, fmt::format("'{}' is not available in scope {}", name, RuleScopeName(rule.scope))};
    return false;
  }
  if (info->unit == "text" && !text_too) {
    problem = {column, fmt::format("'{}' is text; expressions use numbers only", name)};
    return false;
  }
  return true;
}

}  // namespace nl
