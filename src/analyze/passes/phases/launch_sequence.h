// SPDX-License-Identifier: Apache-2.0
#pragma once
// LaunchSequence: what a program launches, in order, as small numbers in which a period can be searched.
// A token is the name of a kernel, copy or memset, the content of a launched graph, or a call that waits for
// the device. It is the sequence of the thread that launches most; where other threads of the process take
// turns with it (PyTorch runs the backward pass on a thread of its own), theirs as well. Without recorded
// launches it is the work of the busiest stream in the order of the device.
// Thread rule: plain values. Ownership: owns its columns.

#include <cstdint>
#include <vector>

#include "analyze/facts/timeline.h"
#include "analyze/run_data.h"

namespace nl::passes::phases {

// Where most of the work is.
struct MainLane {
  uint32_t thread = kNone;       // position in TimelineFacts::threads; kNone: launches are not recorded
  uint32_t stream = kNone;       // position in TimelineFacts::streams; kNone: no device work
  uint32_t device = kNone;       // of that stream
  std::vector<size_t> launched;  // work by thread
};
MainLane FindMainLane(const TimelineFacts& timeline);

struct LaunchSequence {
  std::vector<uint32_t> token;
  std::vector<int64_t> start_ns, end_ns;  // of the call; of the work where launches are not recorded
  std::vector<uint8_t> waits;             // the call waits for the device, so no step begins with it
  size_t size() const { return token.size(); }
  void Reserve(size_t calls);
  void Add(uint32_t of, int64_t start, int64_t end, bool wait);

  struct Kind {
    uint32_t kernels = 0, attention = 0;  // of one launch
    bool graph = false;
  };
  std::vector<Kind> kinds;  // by token
  // Part of the work of the process, or of the device where launches are not recorded.
  double share = 0;
};

inline constexpr Reads kLaunchSequenceReads = NL_READS(Thread, process_id) | NL_READS(Memcpy, kind);
LaunchSequence BuildLaunchSequence(const RunData& data, const TimelineFacts& timeline, const MainLane& lane);

}  // namespace nl::passes::phases
