// SPDX-License-Identifier: Apache-2.0
#pragma once
// The costs of the calls of a sequence: every nanosecond of every device's wall goes to one of
// them, as call_sequence.h defines.
// Thread rule: pure function. Ownership: refers to the run's facts.

#include <vector>

#include "analyze/compare/sequence/call_sequence.h"

namespace nl::compare {

struct CostInput {
  const TimelineFacts& timeline;
  const IdleFacts& idle;
  const std::vector<uint32_t>& call_of_work;  // by work item
  struct Own {
    uint32_t node, call;
  };
  const std::vector<Own>& own;  // API calls that are calls of the sequence; their time is their own
};
// The last call of the sequence is its end, the one before it the time around the work.
void AddCosts(const CostInput& in, CallSequence& sequence);

// The position of a node's thread in TimelineFacts::threads. Any order works; that of the nodes is fastest.
class ThreadFinder {
 public:
  explicit ThreadFinder(const std::vector<TimelineFacts::HostThread>& threads) : threads_(threads) {}
  uint32_t Of(uint32_t node);

 private:
  const std::vector<TimelineFacts::HostThread>& threads_;
  uint32_t last_ = 0;
};

}  // namespace nl::compare
