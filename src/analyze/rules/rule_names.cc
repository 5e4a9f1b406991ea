// SPDX-License-Identifier: Apache-2.0
#include "analyze/rules/rule_names.h"

#include <algorithm>

#include <fmt/format.h>

#include "analyze/features/features.h"

namespace nl {

namespace {

// Whether a scope has the names of a group.
bool InScope(std::string_view group, RuleScope scope) {
  switch (scope) {
    case RuleScope::kRun: return group == "run";
    case RuleScope::kStage: return group == "run" || group == "stage";
    case RuleScope::kOp: return group == "run" || group == "op" || group == "features";
    case RuleScope::kKernel: return group == "run" || group == "kernel";
    case RuleScope::kCompare: return group == "run" || group == "op" || group == "delta";
  }
  return false;
}

std::string Nearest(std::string_view name) {
  const auto distance = [](std::string_view a, std::string_view b) {
    std::vector<size_t> row(b.size() + 1);
    for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (size_t i = 1; i <= a.size(); ++i) {
      size_t diagonal = row[0];
      row[0] = i;
      for (size_t j = 1; j <= b.size(); ++j) {
        const size_t above = row[j];
        row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
        diagonal = above;
      }
    }
    return row[b.size()];
  };
  if (name.size() > 100) return "";
  std::pair<size_t, std::string_view> best{4, ""};
  for (const FeatureInfo& info : FeatureNames())
    best = std::min(best, {distance(name, info.name), info.name});
  return best.second.empty() ? "" : fmt::format("; did you mean '{}'?", best.second);
}

}  // namespace

bool CheckRuleName(const std::string& name, size_t column, const Rule& rule, bool text_too,
                   TextProblem& problem) {
  if (rule.params.count(name) > 0) return true;
  const std::string_view full = FeatureOfShortName(name);
  const FeatureInfo* info = FindFeature(full.empty() ? std::string_view(name) : full);
  if (info == nullptr) {
    problem = {column, fmt::format("unknown name '{}'{}", name.substr(0, 100), Nearest(name))};
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
