// SPDX-License-Identifier: Apache-2.0
#pragma once
// Results that stay in the store: what each `bench run` and `prove` found, so that a later one can be seen
// beside it, also by a server of the same store.
//
//   bench/results/ID/summary.json   KeptResult: what a list needs
//   bench/results/ID/reply.json     the whole reply of the command
//
// A folder appears whole or not at all; ids are in the order of time. The newest 10,000 are kept. Thread
// rule: free functions; any process.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/record.h"
#include "base/result.h"
#include "bench/interleave.h"

namespace nl::bench {

enum class ResultKind : uint8_t { kBench, kProve };
std::span<const std::string_view> NamesOf(ResultKind);

// The verdict of a pair that was measured, or why it has none.
enum class KeptOutcome : uint8_t { kFaster, kSlower, kSame, kUndecided, kRejected, kFailed };
std::span<const std::string_view> NamesOf(KeptOutcome);
KeptOutcome OutcomeOf(Verdict verdict);

struct KeptTarget {
  std::string target;  // of prove: empty
  KeptOutcome outcome = KeptOutcome::kUndecided;
  std::optional<double> speedup, speedup_low, speedup_high;
  std::optional<double> baseline_ms, optimized_ms;  // medians
};
void Describe(Record<KeptTarget>& r);

struct KeptResult {
  std::string result_id;  // UUIDv7
  ResultKind kind = ResultKind::kBench;
  std::string created_at;               // RFC 3339
  std::string title;                    // the suite, or both commands
  std::optional<std::string> suite;     // absolute folder
  std::optional<std::string> hardware;  // GPU or CPU that was measured, where known
  std::vector<KeptTarget> targets;
};
void Describe(Record<KeptResult>& r);

std::string ResultsFolder(const std::string& store_path);

// Fills in id and time, and keeps it; the id.
Result<std::string> KeepResult(const std::string& store_path, KeptResult result, std::string_view reply_json);

// Newest first; one that cannot be read is left out.
std::vector<KeptResult> ListResults(const std::string& store_path);

// By id or a unique beginning of it. NotFound, or InvalidInput when several match.
struct WholeResult {
  KeptResult result;
  Json reply;
};
Result<WholeResult> ReadResult(const std::string& store_path, std::string_view id);

}  // namespace nl::bench
