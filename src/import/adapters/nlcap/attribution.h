// SPDX-License-Identifier: Apache-2.0
#pragma once
// Attributor: which kernel a reading of hardware counters belongs to, by time alone. A
// device counts for itself, not for a kernel: a reading during which another kernel ran as
// well, or two executions at once, is nobody's.
// Thread rule: one thread each. Ownership: views the executions, which outlive it.

#include <cstdint>
#include <span>
#include <vector>

namespace nl::adapters::nlcap {

// Times on the device's own clock, which is that of its readings.
struct Execution {
  int64_t start_ns = 0, end_ns = 0;
  uint32_t kernel = 0;  // number of what is the same kernel: name, grid and block
  int64_t row = 0;      // in table kernel
};
struct ReadingSpan {
  int64_t start_ns = 0, end_ns = 0;
};

enum class Fit : uint8_t {
  kIdle,    // no kernel ran
  kMixed,   // several kernels, or several executions at once
  kPartly,  // one kernel, in one or several executions that do not fill it
  kWhole,   // wholly inside one execution
};
struct Attribution {
  Fit fit = Fit::kIdle;
  size_t execution = 0;  // the first one, where it is kPartly or kWhole
  double busy = 0;       // share of the reading in which the kernel ran
};

class Attributor {
 public:
  // In the order of their start, of one device.
  explicit Attributor(std::span<const Execution> executions) : executions_(executions) {}
  // Readings come in the order of their start; one that does not is nobody's.
  Attribution Next(const ReadingSpan& reading);

 private:
  Attribution Of(const ReadingSpan& reading) const;

  std::span<const Execution> executions_;
  std::vector<size_t> running_;  // those that may reach into the reading, in the order of their start
  size_t next_ = 0;
  int64_t last_start_ns_ = INT64_MIN;
};

}  // namespace nl::adapters::nlcap
