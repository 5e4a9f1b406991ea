// SPDX-License-Identifier: Apache-2.0
#pragma once
// Why one command is faster: both are recorded once with light detail and CPU samples, outside the timed
// runs, and the recordings are compared. What the recordings do not show is stated, never guessed. Thread
// rule: one request, one thread.

#include <string>

#include "bench/command.h"
#include "ops/op.h"
#include "ops/prove/reply.h"

namespace nl::ops::prove {

// Fills `why`, and the run ids of both sides. A recording that fails is a reason, not an error; Cancelled is
// one.
Status ExplainDifference(OpContext& context, const bench::Command& a, const bench::Command& b,
                         ProveReply& reply);

// The part that knows no recording: the causes of the difference between the CPU samples of two runs.
struct SampledPart {
  std::string name;    // "slow", "waiting for futex"
  std::string place;   // file or module; empty: none
  bool waits = false;  // time in which every thread waits
  double ms = 0;
  double samples = 0;
};
// At most `most` causes in the direction of the difference, largest first. Differences within the error of
// sampling are left out.
std::vector<ProveCause> SampledCauses(const std::vector<SampledPart>& a, const std::vector<SampledPart>& b,
                                      size_t most);

}  // namespace nl::ops::prove
