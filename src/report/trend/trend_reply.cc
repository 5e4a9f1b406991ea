// SPDX-License-Identifier: Apache-2.0
#include "report/trend/trend_reply.h"

#include <array>

namespace nl {

std::span<const std::string_view> NamesOf(TrendDirection) {
  static constexpr std::array<std::string_view, 2> kNames = {"regressed", "improved"};
  return kNames;
}

void Describe(Record<TrendWorkload>& r) {
  r.Name("TrendWorkload", "What the runs of a trend have in common");
  r.Field("model", &TrendWorkload::model, "Model, or the filter on its name");
  r.Field("device", &TrendWorkload::device, "Device");
  r.Field("device_count", &TrendWorkload::device_count, "Number of devices");
  r.Field("precision", &TrendWorkload::precision, "Precision");
  r.Field("backend", &TrendWorkload::backend, "Framework");
}

void Describe(Record<TrendRun>& r) {
  r.Name("TrendRun", "One run of a trend");
  r.Field("run_id", &TrendRun::run_id, "Id of the run");
  r.Field("short_id", &TrendRun::short_id, "Shortest unique start of the id");
  r.Field("created_at", &TrendRun::created_at, "When the run was made, RFC 3339");
  r.Field("source_name", &TrendRun::source_name, "File that was imported");
  r.Field("value", &TrendRun::value, "Value of the metric; null: see reason");
  r.Field("reason", &TrendRun::reason, "Why the run has no value");
  r.Field("level", &TrendRun::level, "Median of the runs between the change points around it");
  r.Field("change", &TrendRun::change, Unit::kShare, "Relative change from the previous run with a value");
}

void Describe(Record<TrendChange>& r) {
  r.Name("TrendChange", "A point where the level of the metric changed");
  r.Field("index", &TrendChange::index, "First run of the new level, position in the runs");
  r.Field("run_id", &TrendChange::run_id, "Id of that run");
  r.Field("short_id", &TrendChange::short_id, "Shortest unique start of the id");
  r.Field("created_at", &TrendChange::created_at, "When that run was made, RFC 3339");
  r.Field("before_median", &TrendChange::before_median, "Level before");
  r.Field("after_median", &TrendChange::after_median, "Level after");
  r.Field("change", &TrendChange::change, Unit::kShare, "Relative change; null: the level before was 0");
  r.Field("p_value", &TrendChange::p_value, "Probability of such a change by chance");
  r.Field("class", &TrendChange::direction, "Whether the metric got worse or better");
}

void Describe(Record<TrendUnreadable>& r) {
  r.Name("TrendUnreadable", "Runs without a value for the same reason");
  r.Field("reason", &TrendUnreadable::reason, "The reason");
  r.Field("runs", &TrendUnreadable::runs, "Their short ids");
}

void Describe(Record<TrendBaseline>& r) {
  r.Name("TrendBaseline", "A baseline with runs of this workload");
  r.Field("name", &TrendBaseline::name, "Name of the baseline");
  r.Field("runs", &TrendBaseline::runs, "Its runs of this workload that match the filters");
  r.Field("value", &TrendBaseline::value, "Median of their values; null: see reason");
  r.Field("reason", &TrendBaseline::reason, "Why it has no value");
}

void Describe(Record<TrendReply>& r) {
  r.Name("TrendReply", "Reply of `neurolens trend`");
  r.Field("metric", &TrendReply::metric, "Metric");
  r.Field("unit", &TrendReply::unit, "Unit of its values");
  r.Field("larger_is_better", &TrendReply::larger_is_better, "Larger values are better");
  r.Field("workload", &TrendReply::workload, "What the runs have in common; null: no runs");
  r.Field("runs", &TrendReply::runs, "The runs, oldest first");
  r.Field("change_points", &TrendReply::change_points, "Where the level changed, oldest first");
  r.Field("unreadable", &TrendReply::unreadable, "Runs without a value, by reason");
  r.Field("baselines", &TrendReply::baselines, "Baselines with runs of this workload, by name");
  r.Field("left_out", &TrendReply::left_out, "Runs on another device, precision or backend");
}

}  // namespace nl
