// SPDX-License-Identifier: Apache-2.0
#pragma once
// Why one of two recorded runs takes longer: by the work on the device where there is any, else by CPU
// samples. What the recordings do not show is stated, never guessed. Thread rule: one request, one thread.

#include <optional>
#include <string>
#include <vector>

#include "ops/op.h"
#include "ops/prove/reply.h"
#include "report/compare/compare_reply.h"

namespace nl {

// Fills `why`. `faster`: B was measured to be the faster one; none: that was not decided.
Status ExplainRuns(OpContext& context, const std::string& run_a, const std::string& run_b,
                   std::optional<bool> faster, ProveWhy& why);

// By the work on the device, of the phase that was compared. `by_kernel`: where no change of the program
// stands out, by what each kernel takes in each of them.
void ExplainDeviceWork(const CompareFacts& facts, bool by_kernel, ProveWhy& why);

// The part that knows no recording: the causes of the difference between the CPU samples of two runs.
struct SampledPart {
  std::string name;    // "slow", "waiting for futex"
  std::string place;   // file or module; empty: none
  bool waits = false;  // time in which every thread waits
  double ms = 0;
  double samples = 0;
  bool for_core = false;  // it waits for a free core
};
// On a busy machine work waits for a free core about as long as it runs, or several times as long: less work
// waits less. What stays is what as much work as both sides have waited.
void LeaveOutWaitsOfWork(std::vector<SampledPart>& a, std::vector<SampledPart>& b);
// At most `most` causes in the direction of the difference, largest first, waits for a free core last.
// Differences within the error of sampling are left out.
std::vector<ProveCause> SampledCauses(const std::vector<SampledPart>& a, const std::vector<SampledPart>& b,
                                      size_t most);

}  // namespace nl
