// SPDX-License-Identifier: Apache-2.0
#pragma once
// What CPU samples say a thread was doing where no span was recorded. Samples of one function
// count together, whatever stack led to it: each function is known by the first stack seen
// that ends in it.
// Thread rule: read-only once built. Ownership: refers to the run.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/run_data.h"

namespace nl::program {

// The innermost Python function of a stack, else its innermost frame; ", waiting" when the thread did not
// run.
std::string SampledFunction(std::string_view stack);

inline constexpr Reads kSampledHostReads = NL_READS(CpuSample, thread_id, start_ns, stack);

class SampledHost {
 public:
  explicit SampledHost(const RunData& data);

  // Calls fn(stack, ns) for the samples of a thread in [from_ns, to_ns): they share the time alike, and the
  // parts sum to it. False, and no call, when there is none.
  template <class Fn>
  bool Split(ThreadId thread, int64_t from_ns, int64_t to_ns, const Fn& fn) const {
    const auto found = threads_.find(thread);
    if (found == threads_.end()) return false;
    const auto [first, last] = Between(found->second, from_ns, to_ns);
    int64_t left_ns = to_ns - from_ns;
    for (size_t i = first; i < last; ++i) {
      const int64_t ns = left_ns / static_cast<int64_t>(last - i);
      fn(found->second[i].stack, ns);
      left_ns -= ns;
    }
    return last > first;
  }

 private:
  struct Sample {
    int64_t time_ns;
    StringId stack;  // the first one with its function
  };
  static std::pair<size_t, size_t> Between(const std::vector<Sample>& samples, int64_t from_ns,
                                           int64_t to_ns);
  std::map<ThreadId, std::vector<Sample>> threads_;  // by time
};

}  // namespace nl::program
