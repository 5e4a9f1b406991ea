// SPDX-License-Identifier: Apache-2.0
// The findings as reports and `neurolens findings` give them.
#include "analyze/facts/findings.h"

namespace nl {

std::span<const std::string_view> NamesOf(RunBound) {
  static constexpr std::string_view kNames[] = {
      "cpu_bound",  "gpu_bound_compute",   "gpu_bound_memory", "launch_bound", "transfer_bound",
      "sync_bound", "communication_bound", "balanced",         "unknown"};
  return kNames;
}
std::string_view RunBoundName(RunBound bound) { return NamesOf(bound)[static_cast<size_t>(bound)]; }

void Describe(Record<Evidence>& r) {
  r.Name("Evidence", "One value that a finding or diagnosis was derived from");
  r.Field("table", &Evidence::table, "Table of the row; null for a value over many rows");
  r.Field("row", &Evidence::row, "Row in that table");
  r.Field("what", &Evidence::what, "Name of the value");
  r.Field("value", &Evidence::value, "Value; null when unknown");
  r.Field("unit", &Evidence::unit, "Unit of the value: ms, us, bytes, ratio, count or flag");
}

void Describe(Record<Gain>& r) {
  r.Name("Gain", "Predicted saving of a fix, in one steady step or, without steps, in the run");
  r.Field("low", &Gain::low, Unit::kMs, "Lower bound");
  r.Field("expected", &Gain::expected, Unit::kMs, "Expected value");
  r.Field("high", &Gain::high, Unit::kMs, "Upper bound, at most the whole step or run");
}

void Describe(Record<SteadyStep>& r) {
  r.Name("SteadyStep", "The steady step, or the run without steps, that predicted gains refer to");
  r.Field("steps", &SteadyStep::steps, "Number of steps it was taken from");
  r.Field("steady_steps", &SteadyStep::steady_steps,
          "Steady steps of the run; of very many, `steps` are looked at; 0: the run is one step");
  r.Field("source", &SteadyStep::source, "How the steps were found");
  r.Field("label", &SteadyStep::label, "Label of the steps");
  r.Field("ms", &SteadyStep::ms, Unit::kMs, "Time of one step without the estimated cost of recording");
  r.Field("recorded_ms", &SteadyStep::recorded_ms, Unit::kMs, "Time of one step as recorded");
  r.Field("busy_share", &SteadyStep::busy_share, Unit::kShare,
          "Part of recorded_ms in which the device works, mean over devices");
  r.Field("recorder", &SteadyStep::recorder,
          "Recorder whose cost was subtracted; null when its cost is not known");
}

void Describe(Record<Finding>& r) {
  r.Name("Finding", "One problem that a rule found, with the predicted gain and suggestions");
  r.Field("rule", &Finding::rule, "Id of the rule");
  r.Field("title", &Finding::title, "The problem in a few words");
  r.Field("severity", &Finding::severity, "Severity of the rule");
  r.Field("score", &Finding::score, "Severity weight x impact_ms x confidence; null without an impact");
  r.Field("confidence", &Finding::confidence, Unit::kShare, "Confidence that the finding is right");
  r.Field("impact_ms", &Finding::impact_ms, Unit::kMs,
          "Time that a fix could save at most, without time that another finding counts");
  r.Field("cost_ms", &Finding::cost_ms, Unit::kMs,
          "Measured cost, including time that another finding counts");
  r.Field("gain_ms", &Finding::gain_ms,
          "Predicted saving per steady step, or in a run without steps, when the first suggestion is "
          "followed; null when it cannot be "
          "predicted");
  r.Field("gain_share", &Finding::gain_share, Unit::kShare, "gain_ms.expected / time of the step");
  r.Field("gain_after", &Finding::gain_after,
          "Rules whose fixes gain_ms presumes; without them the fix gains less or nothing");
  r.Field("phase", &Finding::phase, "Phase that gain_ms refers to: steady, or whole for a run without steps");
  r.Field("of_recording", &Finding::of_recording,
          "Judged on the whole recording; the others on the phase that the diagnosis names, if it names one");
  r.Field("first_fix", &Finding::first_fix, "The suggestion that gain_ms refers to");
  r.Field("step_after_ms", &Finding::step_after_ms, Unit::kMs,
          "Time of the step with this fix and those of the findings listed before it");
  r.Field("counted_in", &Finding::counted_in, "Rules whose findings count the rest of cost_ms");
  r.Field("stage", &Finding::stage, "Stage it was found in");
  r.Field("module", &Finding::module, "Module it was found in");
  r.Field("op", &Finding::op, "Operator it was found in");
  r.Field("kernel", &Finding::kernel, "Kernel it was found in");
  r.Field("message", &Finding::message, "The measured facts and their consequence");
  r.Field("suggestions", &Finding::suggestions, "What to change, best first");
  r.Field("refs", &Finding::refs, "Further reading");
  r.Field("evidence", &Finding::evidence, "Values it was derived from");
}

void Describe(Record<NotAssessed>& r) {
  r.Name("NotAssessed", "A rule that lacks data");
  r.Field("rule", &NotAssessed::rule, "Id of the rule");
  r.Field("needs", &NotAssessed::needs, "Data that the run lacks");
  r.Field("advice", &NotAssessed::advice, "How to record that data");
}

void Describe(Record<Diagnosis>& r) {
  r.Name("Diagnosis", "What bounds the run");
  r.Field("class", &Diagnosis::bound, "Bound; unknown when the evidence is not sufficient");
  r.Field("confidence", &Diagnosis::confidence, Unit::kShare, "Confidence in the bound or in `nearest`");
  r.Field("evidence", &Diagnosis::evidence, "Values it was derived from");
  r.Field("settle", &Diagnosis::settle, "Data that would decide an unknown bound");
  r.Field("nearest", &Diagnosis::nearest, "Best candidate for an unknown bound");
  r.Field("phase", &Diagnosis::phase, "Phase that it is of; null: the whole run");
}

void Describe(Record<ToolFinding>& r) {
  r.Name("ToolFinding", "A suggestion of the profiling tool itself, not checked by NeuroLens");
  r.Field("tool", &ToolFinding::tool, "Profiling tool");
  r.Field("rule", &ToolFinding::rule, "Rule of that tool");
  r.Field("kernel", &ToolFinding::kernel, "Short name of the kernel");
  r.Field("executions", &ToolFinding::executions, "Executions that it applies to");
  r.Field("kernel_ms", &ToolFinding::kernel_ms, Unit::kMs, "Time of those executions");
  r.Field("speedup_pct", &ToolFinding::speedup_pct, Unit::kPercent,
          "Largest speedup that the tool estimates");
  r.Field("scope", &ToolFinding::scope, "Part of the kernel that the speedup applies to; global: all of it");
  r.Field("estimated_ms", &ToolFinding::estimated_ms, Unit::kMs,
          "Sum of global speedups x durations; null when no speedup is global");
  r.Field("message", &ToolFinding::message, "Message for the longest execution");
}

void Describe(Record<NearLimit>& r) {
  r.Name("NearLimit", "A kernel that is already near its attainable rate");
  r.Field("kernel", &NearLimit::kernel, "Short name of the kernel");
  r.Field("op", &NearLimit::op, "Operator that launches it");
  r.Field("total_ms", &NearLimit::total_ms, Unit::kMs, "Device time of all calls");
  r.Field("share", &NearLimit::share, Unit::kShare, "Part of device time");
  r.Field("efficiency", &NearLimit::efficiency, Unit::kShare, "Time at the roofline / time measured");
}

void Describe(Record<FindingsFacts>& r) {
  r.Name("FindingsSection", "What bounds a run, and what the rules found in it");
  r.Field("diagnosis", &FindingsFacts::diagnosis, "What bounds the run");
  r.Field("step", &FindingsFacts::step,
          "Step that predicted gains refer to; null where nothing can be replayed");
  r.Field("findings", &FindingsFacts::findings, "Findings, largest predicted gain first, then highest score");
  r.Field("near_limit", &FindingsFacts::near_limit, "Kernels that are already near their attainable rate");
  r.Field("not_assessed", &FindingsFacts::not_assessed, "Rules that lack data");
  r.Field("rules", &FindingsFacts::rules, "Rules that were enabled");
  r.Field("tool_findings", &FindingsFacts::tool_findings,
          "Suggestions of the profiling tool itself, largest estimate first");
}

}  // namespace nl
