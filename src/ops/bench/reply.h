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
#include "bench/interleave.h"
#include "bench/suite.h"
#include "bench/verify.h"

namespace nl {

enum class BenchOutcome : uint8_t { kListed, kMeasured, kRejected, kFailed };
std::span<const std::string_view> NamesOf(BenchOutcome);

struct BenchTarget {
  std::string target, baseline, optimized;
  BenchOutcome outcome = BenchOutcome::kListed;
  std::optional<bench::Verdict> verdict;
  std::optional<double> speedup, speedup_low, speedup_high, gain, p_value;
  std::optional<bool> meets_goal;
  std::optional<int64_t> iterations;
  std::optional<bench::TimeSummary> baseline_time, optimized_time;
  std::vector<bench::VerifyCheck> checks;
  std::optional<std::string> reason;
};
void Describe(Record<BenchTarget>& r);

enum class BenchAction : uint8_t { kLs, kCheck, kRun };
std::span<const std::string_view> NamesOf(BenchAction);

struct BenchReply {
  BenchAction action = BenchAction::kLs;
  std::string suite;
  std::vector<BenchTarget> targets;
  std::vector<bench::SuiteProblem> problems;
  std::optional<double> goal;
  std::optional<bench::EnvironmentReply> environment;
};
void Describe(Record<BenchReply>& r);

namespace ops::bench {

std::string BenchText(const BenchReply& reply, int width, bool color);

}  // namespace ops::bench
}  // namespace nl
