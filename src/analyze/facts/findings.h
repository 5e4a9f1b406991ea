// SPDX-License-Identifier: Apache-2.0
#pragma once
// FindingsFacts: what bounds the run, and what rules found in it, largest predicted gain
// first, each with the values it was derived from. Rules that could not be assessed list
// the data they need. Reports and `neurolens findings` give these structs as they are.
// Made by passes/findings.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyze/facts/phases.h"
#include "analyze/features/features.h"
#include "analyze/replay/fixes.h"
#include "analyze/replay/gain.h"
#include "analyze/rules/rule.h"
#include "base/record.h"

namespace nl {

struct Evidence {
  std::optional<std::string> table;  // none: a value over many rows
  std::optional<int64_t> row;        // id in that table
  std::string what;
  std::optional<double> value;
  std::optional<std::string> unit;
};

struct Finding {
  std::string rule, title;
  RuleSeverity severity = RuleSeverity::kMedium;
  double confidence = 0;
  std::optional<double> impact_ms;      // predicted gain: cost_ms without what other findings count
  std::optional<double> cost_ms;        // measured cost
  std::optional<Gain> gain_ms;          // predicted by replaying the steps with the rule's fix
  std::optional<double> gain_share;     // of the step
  std::vector<std::string> gain_after;  // rules whose fixes gain_ms presumes; alone the fix gains nothing
  std::optional<double> step_after_ms;  // with this fix and those of the findings before
  std::optional<double> score;          // severity weight x impact x confidence
  std::vector<std::string> counted_in;  // rules whose findings count the rest of cost_ms
  std::optional<std::string> stage, module, op, kernel;  // where
  std::string message;
  std::vector<std::string> suggestions;  // ranked
  std::vector<std::string> refs;
  std::vector<Evidence> evidence;
  std::optional<std::string> phase;      // that gain_ms is of: steady
  std::optional<std::string> first_fix;  // the first suggestion, which gain_ms is the gain of
  bool first = false;                    // listed before all others
  bool of_recording = false;             // about the recording as a whole, not about a part of it
  // What gain_ms is predicted with, in positions of this analysis; not part of replies and reports.
  std::optional<replay::FixChange> fix;
};

struct NotAssessed {
  std::string rule;
  std::vector<std::string> needs;  // in words
  std::optional<std::string> advice;
};

enum class RunBound : uint8_t {
  kCpu,
  kGpuCompute,
  kGpuMemory,
  kLaunch,
  kTransfer,
  kSync,
  kCommunication,
  kBalanced,
  kUnknown,
};
std::span<const std::string_view> NamesOf(RunBound);
std::string_view RunBoundName(RunBound bound);

struct Diagnosis {
  RunBound bound = RunBound::kUnknown;
  double confidence = 0;  // a known bound has more than 0.8, from two independent pieces of evidence
  std::vector<Evidence> evidence;
  std::vector<std::string> settle;  // data that would decide an unknown bound
  std::optional<RunBound> nearest;  // best candidate for an unknown bound
  std::optional<PhaseKind> phase;   // that it is of; none: the whole run
};

// A suggestion of the profiling tool itself for the kernels of one name; not a rule of ours.
struct ToolFinding {
  std::string tool, rule, kernel;
  int64_t executions = 0;
  double kernel_ms = 0;
  std::optional<double> speedup_pct;
  std::optional<std::string> scope;
  std::optional<double> estimated_ms;
  std::string message;
};

// The step that gains are of.
struct SteadyStep {
  int64_t steps = 0;         // that it was taken from
  int64_t steady_steps = 0;  // that the run has: of very many, some are replayed
  StepSource source = StepSource::kNone;
  std::optional<std::string> label;
  double ms = 0;                        // without the recorder's own cost
  double recorded_ms = 0;               // as recorded
  std::optional<double> busy_share;     // of recorded_ms, mean over devices
  std::optional<std::string> recorder;  // whose cost was taken out; null: none is known
};

// A kernel that reaches what good kernels reach: nothing to gain but less work or a smaller type.
struct NearLimit {
  std::string kernel;
  std::optional<std::string> op;
  double total_ms = 0, share = 0, efficiency = 0;
};

struct FindingsFacts {
  static constexpr const char* kName = "findings";
  Diagnosis diagnosis;
  std::optional<SteadyStep> step;     // none: the run has no steady steps
  std::vector<Finding> findings;      // by score
  std::vector<NearLimit> near_limit;  // most time first
  std::vector<NotAssessed> not_assessed;
  int64_t rules = 0;                       // that were enabled
  std::vector<ToolFinding> tool_findings;  // largest estimate first
};
void Describe(Record<Evidence>& r);
void Describe(Record<Gain>& r);
void Describe(Record<Finding>& r);
void Describe(Record<NotAssessed>& r);
void Describe(Record<Diagnosis>& r);
void Describe(Record<ToolFinding>& r);
void Describe(Record<SteadyStep>& r);
void Describe(Record<NearLimit>& r);
void Describe(Record<FindingsFacts>& r);

}  // namespace nl
