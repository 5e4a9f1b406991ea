// SPDX-License-Identifier: Apache-2.0
#pragma once
// The reply of `neurolens prove` and its forms. docs/bench.md documents the names; they are stable. Null:
// unknown. Thread rule: pure functions. Ownership: plain values.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/record.h"
#include "bench/command_pair.h"
#include "bench/environment.h"
#include "bench/gpu_conditions.h"
#include "bench/interleave.h"
#include "report/written_file.h"

namespace nl {

struct ProveSide {
  std::string command;
  bool shell = false;
  std::optional<std::string> revision;
  bench::TimeSummary wall;
  double user_ms = 0, system_ms = 0;  // medians
  std::optional<int64_t> peak_rss_bytes;
  std::optional<std::string> peak_rss_reason, run_id;
  std::vector<double> walls_ms;
};
void Describe(Record<ProveSide>& r);

struct ProveCause {
  std::string text;
  double a_ms = 0, b_ms = 0;
  double share = 0;
};
void Describe(Record<ProveCause>& r);

// Why one side is faster: from one recording of each side, outside the timed runs.
struct ProveWhy {
  std::optional<std::string> basis;  // "cpu samples", "device work"
  std::optional<double> recorded_a_ms, recorded_b_ms;
  std::vector<ProveCause> causes;
  std::optional<std::string> reason;  // why there are no causes
};
void Describe(Record<ProveWhy>& r);

struct ProveReply {
  bench::Verdict verdict = bench::Verdict::kUndecided;
  std::string text;
  double speedup = 0;
  std::optional<double> speedup_low, speedup_high;
  double gain = 0;
  double p_value = 1, alpha = 0, margin = 0, precision = 0;
  bench::StopReason stopped_by = bench::StopReason::kBudget;
  int64_t iterations = 0, warmup = 0, group_runs = 1;
  double timed_s = 0, budget_s = 0;
  std::optional<double> budget_needed_s;
  uint64_t seed = 0;
  ProveSide a, b;
  bench::OutputCheck outputs;
  std::optional<ProveWhy> why;
  bench::EnvironmentReply environment;
  bench::GpuConditions gpu;
  std::vector<std::string> notes;
  std::optional<std::string> result_id;
  std::vector<WrittenFile> files;
};
void Describe(Record<ProveReply>& r);

namespace ops::prove {

// The verdict in one sentence: "B is 1.18x faster (1.16 to 1.20)".
std::string Headline(const ProveReply& reply);
std::string ProveText(const ProveReply& reply, int width, bool color);
std::string ProveMarkdown(const ProveReply& reply);
std::string ProveHtml(const ProveReply& reply);
// Two test cases: the time, a failure when B is slower; and the output.
std::string ProveJUnit(const ProveReply& reply);

}  // namespace ops::prove
}  // namespace nl
