// SPDX-License-Identifier: Apache-2.0
#pragma once
// What `bench run --profile` and `bench deep-dive` add to a pair: both programs recorded, and their kernels
// and API calls side by side. docs/bench.md documents the names. Null: unknown, or does not apply. Thread
// rule: plain values.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/compare/attribute/counters.h"
#include "base/record.h"
#include "ops/prove/reply.h"
#include "report/next_step.h"

namespace nl {

// How a kernel of the baseline was found in the optimized program.
enum class KernelMatchKind : uint8_t { kExact, kNormalised, kStructural, kUnmatched };
std::span<const std::string_view> NamesOf(KernelMatchKind);

struct BenchKernel {
  KernelMatchKind match = KernelMatchKind::kUnmatched;
  std::optional<std::string> kernel_a, kernel_b;  // as recorded; null: that side has none
  int64_t count_a = 0, count_b = 0;               // launches
  double a_ms = 0, b_ms = 0, delta_ms = 0;
  std::optional<CounterMeans> counters_a, counters_b;  // over all launches, weighted by time
};
void Describe(Record<BenchKernel>& r);

struct BenchPairing {
  int64_t exact = 0, normalised = 0, structural = 0, unmatched_a = 0, unmatched_b = 0;
};
void Describe(Record<BenchPairing>& r);

struct BenchApiCall {
  std::string name;
  int64_t count_a = 0, count_b = 0;
  double a_ms = 0, b_ms = 0, delta_ms = 0;
};
void Describe(Record<BenchApiCall>& r);

struct BenchProfiledSide {
  std::optional<std::string> run_id, bundle;
  std::optional<int64_t> selected, counted;  // kernels, by Nsight Compute
  std::optional<std::string> nsys_report;
  std::optional<std::string> reason;
};
void Describe(Record<BenchProfiledSide>& r);

struct BenchProfile {
  std::string profile;
  std::optional<std::string> metric_set, metric_reason;
  int64_t iterations = 0;
  BenchProfiledSide baseline, optimized;
  std::optional<BenchPairing> pairing;
  std::vector<BenchKernel> kernels;
  std::vector<BenchApiCall> api_calls;
  std::optional<ProveWhy> why;
  std::vector<std::string> narrative;
  std::vector<NextStep> next;
  std::optional<std::string> reason;
};
void Describe(Record<BenchProfile>& r);

// Kernels or API calls of one side by name.
struct NamedTime {
  std::string name;
  int64_t count = 0;
  double ms = 0;
};
// Kernels of both sides, the largest change first: equal names, then equal normalised names, then those that
// `aligned` (short names of A and B) says stand in each other's place or that alone are of one family.
std::vector<BenchKernel> PairKernels(const std::vector<NamedTime>& a, const std::vector<NamedTime>& b,
                                     const std::vector<std::pair<std::string, std::string>>& aligned);
BenchPairing CountMatches(const std::vector<BenchKernel>& kernels);
std::vector<BenchApiCall> PairCalls(const std::vector<NamedTime>& a, const std::vector<NamedTime>& b);

}  // namespace nl
