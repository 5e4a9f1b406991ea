// SPDX-License-Identifier: Apache-2.0
#include "import/adapters/nlcap/attribution.h"

#include <algorithm>

namespace nl::adapters::nlcap {

Attribution Attributor::Of(const ReadingSpan& reading) const {
  Attribution to;
  int64_t busy_ns = 0, busy_until_ns = reading.start_ns;
  for (const size_t i : running_) {
    const Execution& e = executions_[i];
    const int64_t from_ns = std::max(e.start_ns, reading.start_ns);
    const int64_t to_ns = std::min(e.end_ns, reading.end_ns);
    if (from_ns >= to_ns) continue;
    const bool first = to.fit == Fit::kIdle;
    if (!first && (e.kernel != executions_[to.execution].kernel || from_ns < busy_until_ns))
      return {Fit::kMixed, 0, 0};
    if (first) to.execution = i;
    to.fit =
        first && e.start_ns <= reading.start_ns && e.end_ns >= reading.end_ns ? Fit::kWhole : Fit::kPartly;
    busy_ns += to_ns - from_ns;
    busy_until_ns = to_ns;
  }
  if (reading.end_ns > reading.start_ns)
    to.busy = static_cast<double>(busy_ns) / static_cast<double>(reading.end_ns - reading.start_ns);
  return to;
}

Attribution Attributor::Next(const ReadingSpan& reading) {
  if (reading.start_ns < last_start_ns_) return {Fit::kMixed, 0, 0};
  last_start_ns_ = reading.start_ns;
  while (next_ < executions_.size() && executions_[next_].start_ns < reading.end_ns)
    running_.push_back(next_++);
  std::erase_if(running_, [&](size_t i) { return executions_[i].end_ns <= reading.start_ns; });
  return Of(reading);
}

}  // namespace nl::adapters::nlcap
