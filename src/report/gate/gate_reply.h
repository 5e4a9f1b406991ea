// SPDX-License-Identifier: Apache-2.0
#pragma once
// The reply of `neurolens gate`. docs/gate.md documents the names; they are stable. Null: unknown.
// Thread rule: pure functions. Ownership: plain values.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyze/compare/compare.h"
#include "analyze/metric/regression.h"
#include "base/record.h"
#include "report/compare/compare_reply.h"
#include "report/written_file.h"

namespace nl {

struct GateMetric {
  std::string metric, unit;
  bool larger_is_better = false;
  GateOutcome outcome = GateOutcome::kUndecided;
  VerdictClass verdict = VerdictClass::kUndecided;
  std::optional<double> baseline_median, candidate_median, change, ci_low, ci_high;
  double p_value = 1, q_value = 1, confidence = 0;
  std::optional<int64_t> more_runs_needed;
  double autocorrelation = 0;
  std::optional<std::string> reason;
  std::string text;
  std::vector<double> baseline_values, candidate_values;
};

struct GateRun {
  std::string run_id, short_id, source_name, created_at;
};
struct GateSide {
  std::optional<std::string> name;
  std::vector<GateRun> runs;
};

struct GateContribution {
  int64_t rank = 0;
  Cause cause = Cause::kNoise;
  double delta_ms = 0;
  bool significant = false;
  std::string text;
};
struct GateExplanation {
  std::optional<std::string> run_a, run_b, reason;
  std::optional<double> wall_a_ms, wall_b_ms;
  std::vector<GateContribution> contributions;
};

enum class UndecidedPolicy : uint8_t { kPass, kFail };
std::span<const std::string_view> NamesOf(UndecidedPolicy);

struct GateReply {
  GateOutcome outcome = GateOutcome::kUndecided;
  std::string text;
  std::optional<UndecidedPolicy> undecided_policy;
  double max_regression = 0, alpha = 0;
  std::string judged_at;
  GateSide baseline, candidate;
  std::vector<GateMetric> metrics;
  std::vector<CompareDifference> comparability;
  std::optional<ComparedPhase> phase;
  std::optional<GateExplanation> explanation;
  std::vector<WrittenFile> files;
};

void Describe(Record<GateMetric>& r);
void Describe(Record<GateRun>& r);
void Describe(Record<GateSide>& r);
void Describe(Record<GateContribution>& r);
void Describe(Record<GateExplanation>& r);
void Describe(Record<GateReply>& r);

GateMetric GateMetricOf(const MetricVerdict& verdict, const RegressionLimits& limits);
// The `top` largest contributions to the difference between the two runs.
GateExplanation GateExplanationOf(const Comparison& comparison, size_t top);
// The verdict in one line.
std::string GateHeadline(const GateReply& reply);

}  // namespace nl
