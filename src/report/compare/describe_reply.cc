// SPDX-License-Identifier: Apache-2.0
// The fields of the reply of `neurolens compare`.
#include "report/compare/compare_reply.h"

namespace nl {

void Describe(Record<CompareEvidence>& r) {
  r.Name("CompareEvidence", "A row of a run's tables that shows a change");
  r.Field("table", &CompareEvidence::table, "Table of the run");
  r.Field("row", &CompareEvidence::row, "Row of that table");
  r.Field("what", &CompareEvidence::what, "Operator or kernel");
  r.Field("value", &CompareEvidence::value, "Time of the row");
  r.Field("unit", &CompareEvidence::unit, "Unit of the value");
}

void Describe(Record<CompareCost>& r) {
  r.Name("CompareCost", "Calls of both runs and their time");
  r.Field("op", &CompareCost::op, "Operator or API function; null: device work without one");
  r.Field("kernel_a", &CompareCost::kernel_a, "Kernel in run A");
  r.Field("kernel_b", &CompareCost::kernel_b, "Kernel in run B");
  r.Field("shapes_a", &CompareCost::shapes_a, "Input shapes in run A");
  r.Field("shapes_b", &CompareCost::shapes_b, "Input shapes in run B");
  r.Field("count_a", &CompareCost::count_a, "Calls in run A");
  r.Field("count_b", &CompareCost::count_b, "Calls in run B");
  r.Field("a_ms", &CompareCost::a_ms, Unit::kMs, "Time in run A");
  r.Field("b_ms", &CompareCost::b_ms, Unit::kMs, "Time in run B");
  r.Field("delta_ms", &CompareCost::delta_ms, Unit::kMs, "b_ms - a_ms");
}

void Describe(Record<ComparePart>& r) {
  r.Name("ContributionPart", "One kind of call in a contribution");
  r.Base<CompareCost>();
  r.Field("change", &ComparePart::change, "What changed in these calls");
}

void Describe(Record<CompareContribution>& r) {
  r.Name("Contribution", "One change and its part of the difference between the runs");
  r.Field("rank", &CompareContribution::rank, "Position in the list, from 1");
  r.Field("cause", &CompareContribution::cause, "Class of the change (docs/compare.md)");
  r.Field("detail", &CompareContribution::detail, "Refines the cause: direction of a copy, allocation");
  r.Field("stage", &CompareContribution::stage, "Stages with most of its time");
  r.Field("module", &CompareContribution::module, "Module with most of its time");
  r.Base<CompareCost>();
  r.Field("share", &CompareContribution::share, Unit::kShare,
          "delta_ms relative to the difference of the walls; null: the walls are equal");
  r.Field("count_effect_ms", &CompareContribution::count_effect_ms, Unit::kMs,
          "Part of delta_ms from more or fewer calls");
  r.Field("speed_effect_ms", &CompareContribution::speed_effect_ms, Unit::kMs,
          "Part of delta_ms from device time of calls that both runs make");
  r.Field("idle_effect_ms", &CompareContribution::idle_effect_ms, Unit::kMs,
          "Part of delta_ms in which the device waited");
  r.Field("busy_a_ms", &CompareContribution::busy_a_ms, Unit::kMs, "Device time in run A");
  r.Field("busy_b_ms", &CompareContribution::busy_b_ms, Unit::kMs, "Device time in run B");
  r.Field("structural", &CompareContribution::structural, "The program does something else");
  r.Field("significant", &CompareContribution::significant,
          "Structural, or larger than the variation between repeats");
  r.Field("confidence", &CompareContribution::confidence, Unit::kShare, "Confidence that the change is real");
  r.Field("p_value", &CompareContribution::p_value, "Null: there are no samples to compute it from");
  r.Field("merged", &CompareContribution::merged, "Smaller changes that this row sums; 0: it is one change");
  r.Field("evidence_a", &CompareContribution::evidence_a, "Rows of run A");
  r.Field("evidence_b", &CompareContribution::evidence_b, "Rows of run B");
  r.Field("text", &CompareContribution::text, "The change in one sentence");
  r.Field("parts", &CompareContribution::parts, "Its kinds of calls, largest difference first");
}

void Describe(Record<CompareTableRow>& r) {
  r.Name("CompareRow", "One kernel, operator, module or stage in both runs");
  r.Field("name", &CompareTableRow::name, "Name; empty: calls without one");
  r.Field("count_a", &CompareTableRow::count_a, "Calls in run A");
  r.Field("count_b", &CompareTableRow::count_b, "Calls in run B");
  r.Field("a_ms", &CompareTableRow::a_ms, Unit::kMs, "Time in run A");
  r.Field("b_ms", &CompareTableRow::b_ms, Unit::kMs, "Time in run B");
  r.Field("delta_ms", &CompareTableRow::delta_ms, Unit::kMs, "b_ms - a_ms");
  r.Field("busy_a_ms", &CompareTableRow::busy_a_ms, Unit::kMs,
          "Device time in run A of the work it launched itself, overlap counted once, of the mean device");
  r.Field("busy_b_ms", &CompareTableRow::busy_b_ms, Unit::kMs, "The same in run B");
}

void Describe(Record<CompareDifference>& r) {
  r.Name("Comparability", "A difference between the setups of the two sides");
  r.Field("what", &CompareDifference::what, "Device, driver, batch size, ...");
  r.Field("a", &CompareDifference::a, "Value on side A");
  r.Field("b", &CompareDifference::b, "Value on side B");
  r.Field("consequence", &CompareDifference::consequence, "What it means for the comparison");
}

void Describe(Record<CompareShift>& r) {
  r.Name("CostShift", "A cost that moved between neighbours while their sum stayed the same");
  r.Field("stage", &CompareShift::stage, "Stage of both");
  r.Field("module", &CompareShift::module, "Module of both");
  r.Field("from", &CompareShift::from, "Operator that got cheaper");
  r.Field("to", &CompareShift::to, "Operator that got more expensive");
  r.Field("ms", &CompareShift::ms, Unit::kMs, "Time that moved");
}

void Describe(Record<CompareVerdictReply>& r) {
  r.Name("CompareVerdict", "Whether B is slower or faster than A because of what changed");
  r.Field("class", &CompareVerdictReply::verdict, "The verdict");
  r.Field("confidence", &CompareVerdictReply::confidence, Unit::kShare, "Confidence in the verdict");
  r.Field("p_value", &CompareVerdictReply::p_value, "Of the walls being equal; null: one run on each side");
  r.Field("more_runs_needed", &CompareVerdictReply::more_runs_needed,
          "Runs to add on each side for a verdict; null: decided, or more runs would not decide");
  r.Field("text", &CompareVerdictReply::text, "The verdict in a sentence or two");
}

void Describe(Record<CompareRun>& r) {
  r.Name("CompareRun", "A run of a comparison");
  r.Field("run_id", &CompareRun::run_id, "Id of the run");
  r.Field("name", &CompareRun::name, "Source file, else the model");
  r.Field("model", &CompareRun::model, "Model");
  r.Field("device", &CompareRun::device, "First device");
  r.Field("created_at", &CompareRun::created_at, "When the run was made, RFC 3339");
}

void Describe(Record<CompareSides>& r) {
  r.Name("CompareRuns", "The runs of both sides, in the order given");
  r.Field("a", &CompareSides::a, "Side A");
  r.Field("b", &CompareSides::b, "Side B");
}

void Describe(Record<CompareSettings>& r) {
  r.Name("CompareOptions", "Parameters of the comparison");
  r.Field("stage", &CompareSettings::stage, "Only this stage; null: the whole run");
  r.Field("step", &CompareSettings::step, "Only this instance of the stage; null: all");
  r.Field("time", &CompareSettings::time, "wall or device");
  r.Field("metric", &CompareSettings::metric, "weighted or plain similarity");
}

void Describe(Record<CompareFacts>& r) {
  r.Name("CompareFacts", "What changed between two runs, what each change costs, and whether it is real");
  r.Field("run_a", &CompareFacts::run_a, "Run of side A that is compared; of several, nearest to the median");
  r.Field("run_b", &CompareFacts::run_b, "Run of side B that is compared");
  r.Field("runs", &CompareFacts::runs, "All runs of both sides");
  r.Field("similarity", &CompareFacts::similarity, "Similarity of the two runs, -1 to 1");
  r.Field("matched_share_a", &CompareFacts::matched_share_a, Unit::kShare,
          "Time of run A in calls that have a partner in B");
  r.Field("matched_share_b", &CompareFacts::matched_share_b, Unit::kShare,
          "Time of run B in calls that have a partner in A");
  r.Field("fingerprint", &CompareFacts::fingerprint, "The similarity in detail");
  r.Field("wall_a_ms", &CompareFacts::wall_a_ms, Unit::kMs,
          "Wall time of run A, or the part selected by stage, step and time");
  r.Field("wall_b_ms", &CompareFacts::wall_b_ms, Unit::kMs, "The same of run B");
  r.Field("delta_ms", &CompareFacts::delta_ms, Unit::kMs, "wall_b_ms - wall_a_ms");
  r.Field("residual_ms", &CompareFacts::residual_ms, Unit::kMs, "delta_ms less the sum of all contributions");
  r.Field("busy_a_ms", &CompareFacts::busy_a_ms, Unit::kMs, "Device time of run A, overlap counted once");
  r.Field("busy_b_ms", &CompareFacts::busy_b_ms, Unit::kMs, "Device time of run B, overlap counted once");
  r.Field("walls_a_ms", &CompareFacts::walls_a_ms, Unit::kMs,
          "Wall time of every run of side A; empty: one run on each side");
  r.Field("walls_b_ms", &CompareFacts::walls_b_ms, Unit::kMs, "The same of side B");
  r.Field("verdict", &CompareFacts::verdict, "The verdict");
  r.Field("comparability", &CompareFacts::comparability, "Differences between the setups");
  r.Field("normalised_by", &CompareFacts::normalised_by, "Unit of normal_a_ms; null: not normalised");
  r.Field("normal_a_ms", &CompareFacts::normal_a_ms, Unit::kMs, "Wall time of run A per that unit");
  r.Field("normal_b_ms", &CompareFacts::normal_b_ms, Unit::kMs, "Wall time of run B per that unit");
  r.Field(
      "drift", &CompareFacts::drift, Unit::kRatio,
      "Host time of B relative to A in unchanged work; above 1: slower; null: not recorded on both sides");
  r.Field("on_host", &CompareFacts::on_host, "No device work was recorded: host time is compared");
  r.Field("contributions", &CompareFacts::contributions, "The changes; they sum to delta_ms");
  r.Field("equal_changes", &CompareFacts::equal_changes,
          "Changes that cost the same in both runs and are not listed");
  r.Field("shifts", &CompareFacts::shifts, "Costs that moved but did not change");
  r.Field("by_kernel", &CompareFacts::by_kernel, "By kernel, largest difference first");
  r.Field("by_op", &CompareFacts::by_op, "By operator, largest difference first");
  r.Field("by_module", &CompareFacts::by_module, "By module, largest difference first");
  r.Field("by_stage", &CompareFacts::by_stage, "By stage, largest difference first");
  r.Field("across", &CompareFacts::across,
          "Device time by operator and kernel family, where device, software or recording tool differ; else "
          "null");
  r.Field("counters", &CompareFacts::counters, "Hardware counters by kernel, where captured");
  r.Field("phase", &CompareFacts::phase, "Part of the runs that is compared; null: whole runs");
  r.Field("options", &CompareFacts::options, "Parameters of the comparison");
  r.Field("next", &CompareFacts::next, "Commands worth running next");
}

void Describe(Record<CompareReply>& r) {
  r.Name("CompareReply", "Reply of `neurolens compare`");
  r.Base<CompareFacts>();
  r.Field("files", &CompareReply::files, "Files written");
  r.OptionalField("timeline", &CompareReply::timeline, "Both runs in time, with --details");
  r.OptionalField("flame", &CompareReply::flame, "Flame graph of the difference, with --details");
}

void Describe(Record<CompareDocument>& r) {
  r.Name("CompareDocument", "What `neurolens compare --json FILE` writes and the page reads");
  r.Base<CompareFacts>();
  r.Field("timeline", &CompareDocument::timeline, "Both runs in time");
  r.Field("flame", &CompareDocument::flame, "Flame graph of the difference");
}

}  // namespace nl
