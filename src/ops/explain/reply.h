// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reply of `neurolens explain`.

#include <optional>
#include <string>
#include <vector>

#include "analyze/facts/findings.h"
#include "analyze/facts/phases.h"
#include "report/next_step.h"
#include "report/report_breakdown.h"

namespace nl::ops::explain {

struct TimeByName {
  std::string name;
  double ms = 0;
  std::optional<double> share;
  int64_t calls = 0;
};
inline void Describe(Record<TimeByName>& r) {
  r.Name("TimeByName", "A kernel or operator and its time");
  r.Field("name", &TimeByName::name, "Name");
  r.Field("ms", &TimeByName::ms, Unit::kMs, "Device time; host self time in runs without device work");
  r.Field("share", &TimeByName::share, Unit::kShare, "Part of the time of all of them");
  r.Field("calls", &TimeByName::calls, "Executions");
}

struct ExplainedFinding {
  std::string rule, title;
  RuleSeverity severity = RuleSeverity::kMedium;
  double confidence = 0;
  std::optional<double> gain_ms, gain_share, impact_ms;
  std::string message;
  std::optional<std::string> fix;
};
inline void Describe(Record<ExplainedFinding>& r) {
  using T = ExplainedFinding;
  r.Name("ExplainedFinding", "A finding in short; `neurolens findings` has its evidence and all suggestions");
  r.Field("rule", &T::rule, "Id of the rule");
  r.Field("title", &T::title, "The problem in a few words");
  r.Field("severity", &T::severity, "Severity");
  r.Field("confidence", &T::confidence, "From 0 to 1");
  r.Field("gain_ms", &T::gain_ms, Unit::kMs, "Predicted saving per steady step; null: not predicted");
  r.Field("gain_share", &T::gain_share, Unit::kShare, "gain_ms / time of the step");
  r.Field("impact_ms", &T::impact_ms, Unit::kMs, "Most that a fix could save in the run; null: unknown");
  r.Field("message", &T::message, "The problem with its numbers");
  r.Field("fix", &T::fix, "The first suggestion");
}

struct ExplainReply {
  std::string run_id, model;
  std::optional<std::string> device;
  double wall_ms = 0;
  std::string verdict;
  RunBound bound = RunBound::kUnknown;
  double confidence = 0;
  std::optional<PhasesSection> phases;
  std::optional<double> step_ms;
  std::vector<ReportPart> breakdown;
  std::vector<TimeByName> kernels, operators;
  std::vector<ExplainedFinding> findings;
  int64_t findings_total = 0;
  std::vector<std::string> warnings;
  std::vector<NextStep> next;
};
inline void Describe(Record<ExplainReply>& r) {
  using T = ExplainReply;
  r.Name("ExplainReply", "Reply of `neurolens explain`");
  r.Field("run_id", &T::run_id, "The run");
  r.Field("model", &T::model, "Name of the model");
  r.Field("device", &T::device, "Name of the first device; null: not known, or no device");
  r.Field("wall_ms", &T::wall_ms, Unit::kMs, "Time from the first to the last event of the run");
  r.Field("verdict", &T::verdict, "The main result in one paragraph");
  r.Field("bound", &T::bound, "What limits the run");
  r.Field("confidence", &T::confidence, "Confidence in the bound, from 0 to 1");
  r.Field("phases", &T::phases, "Start-up, warm-up, steady phase and tail; null: the run has only durations");
  r.Field("step_ms", &T::step_ms, Unit::kMs,
          "Time of one steady step without the cost of recording, which gains are of; null: no steady steps");
  r.Field("breakdown", &T::breakdown, "Where the time went; sums to the wall time of all devices");
  r.Field("kernels", &T::kernels, "Kernels with the most device time");
  r.Field("operators", &T::operators, "Operators with the most time");
  r.Field("findings", &T::findings, "First findings, most important first");
  r.Field("findings_total", &T::findings_total, "Findings before --limit");
  r.Field("warnings", &T::warnings, "What the recording lost or the import found suspect");
  r.Field("next", &T::next, "The most useful next calls");
}

}  // namespace nl::ops::explain
