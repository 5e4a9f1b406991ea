// SPDX-License-Identifier: Apache-2.0
#pragma once
// The reply of `neurolens compare`: a comparison as JSON, the terminal, Markdown and the page show
// it. docs/compare.md documents the names; they are stable. Strings come from traces and are not
// escaped. Null means unknown.
// Thread rule: pure functions. Ownership: plain values.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyze/compare/compare.h"
#include "analyze/compare/flame_diff.h"
#include "base/record.h"
#include "report/compare/pair_timeline.h"
#include "report/compared_phase.h"
#include "report/next_step.h"
#include "report/written_file.h"

namespace nl {

struct CompareEvidence {
  std::string table;
  int64_t row = 0;
  std::string what;
  std::optional<double> value;
  std::optional<std::string> unit;
};

// What a contribution and its parts share.
struct CompareCost {
  std::optional<std::string> op, kernel_a, kernel_b, shapes_a, shapes_b;
  int64_t count_a = 0, count_b = 0;
  double a_ms = 0, b_ms = 0, delta_ms = 0;
};
struct ComparePart : CompareCost {
  std::optional<std::string> change;
};
struct CompareContribution : CompareCost {
  int64_t rank = 0;
  Cause cause = Cause::kNoise;
  std::optional<std::string> detail, stage, module;
  std::optional<double> share;
  double count_effect_ms = 0, speed_effect_ms = 0, idle_effect_ms = 0;
  double busy_a_ms = 0, busy_b_ms = 0;
  bool structural = false, significant = false;
  double confidence = 0;
  std::optional<double> p_value;
  int64_t merged = 0;
  std::vector<CompareEvidence> evidence_a, evidence_b;
  std::string text;
  std::vector<ComparePart> parts;
};

struct CompareTableRow {
  std::string name;
  int64_t count_a = 0, count_b = 0;
  double a_ms = 0, b_ms = 0, delta_ms = 0, busy_a_ms = 0, busy_b_ms = 0;
};

struct CompareDifference {
  std::string what;
  std::optional<std::string> a, b, consequence;
};

struct CompareShift {
  std::optional<std::string> stage, module;
  std::string from, to;
  double ms = 0;
};

struct CompareVerdictReply {
  VerdictClass verdict = VerdictClass::kUndecided;
  double confidence = 0;
  std::optional<double> p_value;
  std::optional<int64_t> more_runs_needed;
  std::string text;
};

struct CompareRun {
  std::string run_id;
  std::optional<std::string> name, model, device, created_at;
};
struct CompareSides {
  std::vector<CompareRun> a, b;
};
struct CompareSettings {
  std::optional<std::string> stage;
  std::optional<int64_t> step;
  std::string time, metric;
};

// What the reply and the data of the page share.
struct CompareFacts {
  std::string run_a, run_b;
  CompareSides runs;
  std::optional<double> similarity;
  double matched_share_a = 0, matched_share_b = 0;
  Similarity fingerprint;
  double wall_a_ms = 0, wall_b_ms = 0, delta_ms = 0, residual_ms = 0;
  double busy_a_ms = 0, busy_b_ms = 0;
  std::vector<double> walls_a_ms, walls_b_ms;
  CompareVerdictReply verdict;
  std::vector<CompareDifference> comparability;
  std::optional<std::string> normalised_by;
  std::optional<double> normal_a_ms, normal_b_ms;
  std::optional<double> drift;
  bool on_host = false;
  std::vector<CompareContribution> contributions;
  int64_t equal_changes = 0;
  std::vector<CompareShift> shifts;
  std::vector<CompareTableRow> by_kernel, by_op, by_module, by_stage;
  std::optional<AcrossSetups> across;
  std::vector<CounterComparison> counters;
  std::optional<ComparedPhase> phase;
  CompareSettings options;
  std::vector<NextStep> next;
};

struct CompareReply : CompareFacts {
  std::vector<WrittenFile> files;
  std::optional<PairTimeline> timeline;  // with --details, as is the next
  std::optional<FlameDiff> flame;
};

// The data of the page, and what --json FILE writes.
struct CompareDocument : CompareFacts {
  PairTimeline timeline;
  FlameDiff flame;
};

void Describe(Record<CompareEvidence>& r);
void Describe(Record<CompareCost>& r);
void Describe(Record<ComparePart>& r);
void Describe(Record<CompareContribution>& r);
void Describe(Record<CompareTableRow>& r);
void Describe(Record<CompareDifference>& r);
void Describe(Record<CompareShift>& r);
void Describe(Record<CompareVerdictReply>& r);
void Describe(Record<CompareRun>& r);
void Describe(Record<CompareSides>& r);
void Describe(Record<CompareSettings>& r);
void Describe(Record<CompareFacts>& r);
void Describe(Record<CompareReply>& r);
void Describe(Record<CompareDocument>& r);

// At most `top` contributions; the rest becomes one more, "N smaller changes", so that the list still
// sums to the difference. `runs`, `options` and `next` stay empty.
CompareFacts CompareFactsOf(const Comparison& comparison, size_t top = SIZE_MAX);

// Commands worth running next; `a` and `b` are the names the user gave the runs.
std::vector<NextStep> NextSteps(const CompareFacts& comparison, const std::string& a, const std::string& b);

}  // namespace nl
