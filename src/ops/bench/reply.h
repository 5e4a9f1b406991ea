// SPDX-License-Identifier: Apache-2.0
#pragma once
// The reply of `neurolens bench`. docs/bench.md documents the names; they are stable. Null: unknown.
// Thread rule: plain values.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/record.h"
#include "bench/environment.h"
#include "bench/expectations.h"
#include "bench/gpu_conditions.h"
#include "bench/interleave.h"
#include "bench/suite.h"
#include "bench/verify.h"
#include "ops/bench/profile_reply.h"
#include "ops/bench/sweep.h"
#include "report/compare/compare_reply.h"
#include "report/written_file.h"

namespace nl {

enum class BenchOutcome : uint8_t { kListed, kMeasured, kRejected, kFailed };
std::span<const std::string_view> NamesOf(BenchOutcome);

struct BenchTarget {
  std::string target, baseline, optimized;
  BenchOutcome outcome = BenchOutcome::kListed;
  std::optional<bench::Verdict> verdict;
  std::optional<double> speedup, speedup_low, speedup_high, gain, p_value;
  bench::Goal goal = bench::Goal::kSpeed;
  bool goal_declared = false;
  std::optional<double> goal_ratio, goal_reached;
  std::optional<bool> meets_goal, meets_memory_goal;
  std::optional<int64_t> iterations;
  std::optional<bench::TimeSummary> baseline_time, optimized_time;
  std::optional<double> baseline_device_ms, optimized_device_ms;
  std::optional<double> baseline_peak_bytes, optimized_peak_bytes, memory_ratio;
  std::vector<bench::VerifyCheck> checks;
  std::optional<bench::GpuConditions> gpu;
  std::optional<BenchProfile> profile;
  std::optional<std::string> reason;
};
void Describe(Record<BenchTarget>& r);

enum class BenchAction : uint8_t { kLs, kCheck, kRun, kDeepDive, kSweep, kExpectations };
std::span<const std::string_view> NamesOf(BenchAction);

// Slower than it may be, or without what its suite declares as its goal.
bool IsWorse(const BenchTarget& target, double regression);

struct BenchReply {
  BenchAction action = BenchAction::kLs;
  std::string suite;
  std::vector<BenchTarget> targets;
  std::vector<bench::SuiteProblem> problems;
  std::vector<bench::ExpectationResult> expectations;
  std::optional<double> goal, memory_goal, regression;
  std::optional<std::string> run_id, result_id;
  std::optional<BenchSweep> sweep;
  std::optional<bench::EnvironmentReply> environment;
  std::vector<WrittenFile> files;
};
void Describe(Record<BenchReply>& r);

// reports/deep_dive_compare.json: one example is a baseline with its variants, of which the fastest that was
// measured is profiled.
struct DeepDiveExample {
  std::string example;
  std::optional<std::string> selected, selected_reason;  // target
  std::vector<BenchTarget> targets;
  std::optional<CompareFacts> comparison;
};
void Describe(Record<DeepDiveExample>& r);
struct DeepDiveDocument {
  int64_t deep_dive_version = 1;
  std::string run_id, suite, profile, created_at;
  std::vector<DeepDiveExample> examples;
};
void Describe(Record<DeepDiveDocument>& r);

namespace ops::bench {

std::string BenchText(const BenchReply& reply, int width, bool color);
std::string BenchMarkdown(const BenchReply& reply);
std::string BenchHtml(const BenchReply& reply);
std::string BenchJUnit(const BenchReply& reply);

}  // namespace ops::bench
}  // namespace nl
