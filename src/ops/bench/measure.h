// SPDX-License-Identifier: Apache-2.0
#pragma once
// Measures one pair of a suite: starts and verifies both programs, times them in turn, and fills the target
// of the reply. Thread rule: one thread. Ownership: the scratch folder and the programs live as long as a
// call.

#include <functional>
#include <string>

#include "bench/command.h"
#include "ops/bench/reply.h"

namespace nl::ops::bench {

// What becomes of a pair that fails a check. detect: it is measured and its failed checks are listed.
// quarantine: its times are withheld. gate: and the answer is no.
enum class Phase : uint8_t { kDetect, kQuarantine, kGate };

struct MeasureOptions {
  nl::bench::InterleaveOptions interleave;
  std::string suite, scratch,
      python = "python3";  // scratch: an existing folder, with include/neurolens/bench.h in it
  double goal = 1.05, memory_goal = 1.05;
  double regression = 0.05;  // slowdown that a pair with another goal than speed may have
  Phase phase = Phase::kGate;
  std::optional<int64_t> locked_clock_mhz;  // of the GPUs, for the reply
  std::optional<std::string> lock_reason;
};

// The command of one side; a C++ source is compiled into the scratch folder first.
Result<nl::bench::Command> PrepareSide(const MeasureOptions& options, const nl::bench::Target& target,
                                       bool is_b, const std::function<bool()>& keep_going);

// An error for what cannot run at all; `out` has the rest. `measured` is set when its times can be kept.
Status MeasurePair(const MeasureOptions& options, const nl::bench::Target& target,
                   const std::function<bool()>& keep_going, BenchTarget& out,
                   std::optional<nl::bench::Expectation>& measured);

}  // namespace nl::ops::bench
