// SPDX-License-Identifier: Apache-2.0
#pragma once
// Verification of a pair of benchmarks, fail closed: a check that cannot run fails by its name. Each cheat
// that a benchmark can play has a check that rejects it. Thread rule: one thread.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/record.h"
#include "bench/worker.h"

namespace nl::bench {

enum class CheckResult : uint8_t { kPassed, kFailed, kAllowed };
std::span<const std::string_view> NamesOf(CheckResult);
struct VerifyCheck {
  std::string name;
  CheckResult result = CheckResult::kPassed;
  std::optional<std::string> text;  // what failed, or why it was allowed to
};
void Describe(Record<VerifyCheck>& r);

// Names of all checks, in the order they run.
std::span<const std::string_view> VerifyCheckNames();

// Outputs as {"dtype", "data"}: none when equal within the tolerance of the dtype, or that of `tolerance` (an
// object with rtol, atol and a reason); else the first difference.
std::optional<std::string> OutputsDiffer(const Json& a, const Json& b, const Json& tolerance);

// The middle of a list of nanoseconds in the answer to a request to run.
Result<double> MedianSeconds(const Json& reply, const char* name);

class Verifier {
 public:
  Verifier(Worker& a, Worker& b, std::map<std::string, std::string> allow, std::function<bool()> keep_going)
      : a_(a), b_(b), allow_(std::move(allow)), keep_going_(std::move(keep_going)) {}

  // Before the timing; `seed` must not be known to the benchmarks. An error only for Cancelled.
  Status Before(uint64_t seed);
  // Of every timed batch: what `run` replied.
  void Timed(bool is_b, const Json& reply);
  // After it: the inputs are changed once more and must reach the output.
  Status After();

  // Of one side, after Before() or After().
  struct Side {
    bool uses_device = false;
    std::optional<double> peak_bytes;  // of the device's memory where one is used, of the process otherwise
    Json kernels;                      // of each audited run
    std::string toolchain;             // empty: not said
    std::string device_name;           // empty: none is used
  };
  const Side& side(bool is_b) const { return is_b ? side_b_ : side_a_; }

  bool passed() const;
  // Every check by name, in order; one that never ran has failed.
  std::vector<VerifyCheck> Checks() const;

 private:
  Result<Json> Ask(Worker& worker, Json request);
  Result<Json> OutputAfter(Worker& worker, std::optional<uint64_t> seed, bool jitter, bool run_first);
  Status CompareSides(uint64_t seed);
  Status CheckInputsMatter(Worker& worker, const char* side, uint64_t seed);
  Status Audit(bool after);
  struct TimedReplies {
    int64_t count = 0;
    std::vector<double> late_ns;    // of those in which the device worked on after the declared streams
    std::vector<double> beyond_ns;  // of those in which the device worked for longer than the run took
  };
  void CheckTimed(const TimedReplies& replies, const char* side);
  void Fail(std::string_view name, const std::string& text);
  void Pass(std::string_view name);

  Worker& a_;
  Worker& b_;
  std::map<std::string, std::string> allow_;
  std::function<bool()> keep_going_;
  std::map<std::string, std::optional<std::string>, std::less<>> done_;  // failure, or none
  Json tolerance_;
  Side side_a_, side_b_;
  TimedReplies timed_a_, timed_b_;
};

}  // namespace nl::bench
