// SPDX-License-Identifier: Apache-2.0
#pragma once
// FindingsFacts: what bounds the run, and what rules found in it, the costliest first,
// each with the values it was read from. Rules that could not be assessed say what they
// lack.
// Made by passes/findings.

#include <optional>
#include <string>
#include <vector>

#include "analyze/features/features.h"
#include "analyze/rules/rule.h"
#include "base/json.h"

namespace nl {

struct Evidence {
  std::string table;           // "" for a value over many rows
  std::optional<int64_t> row;  // id in that table
  std::string what;
  std::optional<double> value;  // null: not known
  std::string unit;
};

struct Finding {
  std::string rule, title;
  RuleSeverity severity = RuleSeverity::kMedium;
  double confidence = 0;
  std::optional<double> impact_ms;        // measured cost not counted by another finding
  std::optional<double> cost_ms;          // all of it
  std::optional<double> score;            // severity weight x impact x confidence; null without impact
  std::vector<std::string> counted_in;    // rules whose findings hold the rest of cost_ms
  std::string stage, module, op, kernel;  // where; "" when it says nothing of it
  std::string message;
  std::vector<std::string> suggestions;  // ranked
  std::vector<std::string> refs;
  std::vector<Evidence> evidence;
  bool first = false;
};

struct NotAssessed {
  std::string rule;
  std::vector<std::string> needs;  // in words
  std::string advice;              // how to get it, "" when nothing is known to help
};

struct Diagnosis {
  std::string bound = "unknown";  // cpu_bound, gpu_bound_compute, ...
  double confidence = 0;          // above 0.8 with two independent pieces of evidence, else unknown
  std::vector<Evidence> evidence;
  std::vector<std::string> settle;  // what would settle it, when unknown
  std::string nearest;              // the best candidate of an unknown; "" when none
};

// What the profiling tool itself says of the kernels of one name: its word, not a rule of ours.
struct ToolWord {
  std::string tool, rule, kernel, scope, message;  // kernel: short name; message: of the costliest execution
  int64_t executions = 0;
  double kernel_ms = 0;                // of those executions
  std::optional<double> speedup_pct;   // the largest estimate
  std::optional<double> estimated_ms;  // estimates of whole kernels times their durations
};

struct FindingsFacts {
  static constexpr const char* kName = "findings";
  Diagnosis diagnosis;
  std::vector<Finding> findings;  // by score
  std::vector<NotAssessed> not_assessed;
  int64_t rules = 0;                 // that were enabled
  std::vector<ToolWord> tool_words;  // suggestions, the largest estimate first
};

// {"diagnosis": ..., "findings": [...], "not_assessed": [...], "tool_findings": [...]} as analysis.md names
// it.
Json ToJson(const FindingsFacts& facts, const RunData& data);

}  // namespace nl
