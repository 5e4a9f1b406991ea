// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the steps of a run executed on its main device, and which of them executed the same.
// Steps are of one group when they executed the same operators, or kernels where operators are not recorded:
// the same number within 2 %, at most a fifth of them different ones. The order is not compared: kernels of
// several streams have none. Steps of one label that all differ are one group, since the label makes them so.
// Thread rule: pure functions.

#include <array>
#include <cstdint>
#include <vector>

#include "analyze/facts/phases.h"
#include "analyze/facts/timeline.h"
#include "analyze/passes/phases/launch_sequence.h"

namespace nl::passes::phases {

// Asks for the step of a time; fast when times come nearly in order. Thread rule: one thread.
class StepLookup {
 public:
  explicit StepLookup(const std::vector<PhasesFacts::Step>& steps) : steps_(steps) {}
  uint32_t At(int64_t time_ns);  // kNone outside of every step

 private:
  bool Holds(size_t step, int64_t time_ns) const {
    return step < steps_.size() && time_ns >= steps_[step].start_ns && time_ns < steps_[step].end_ns;
  }
  const std::vector<PhasesFacts::Step>& steps_;
  size_t last_ = 0;
};

struct StepWork {
  static constexpr size_t kBuckets = 16;
  uint64_t names = 0;                                // hash of what was executed, in any order
  uint32_t items = 0;                                // operators and kernels in it
  uint32_t last_op = kNone;                          // host node, while collecting
  std::array<uint16_t, kBuckets> buckets{};          // items by hash: how different two steps are at least
  int64_t start_ns = INT64_MAX, end_ns = INT64_MIN;  // on the device; empty without work
  bool empty() const { return items == 0; }
};
// When work was launched; when it started where launches are not recorded; null when that is not known.
int64_t LaunchTimeNs(const TimelineFacts& timeline, const MainLane& lane, uint32_t work);
std::vector<StepWork> WorkOfSteps(const TimelineFacts& timeline, const MainLane& lane,
                                  const std::vector<PhasesFacts::Step>& steps);

// Sets the group of every step and returns how many there are; group 0 has the most time.
uint32_t GroupSteps(const std::vector<StepWork>& work, bool labelled, std::vector<PhasesFacts::Step>& steps);

}  // namespace nl::passes::phases
